"""The coverage page is what the package registers, and every function that it says is compiled has a property test."""

import importlib.util
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import numpy as np  # noqa: E402
from cases import CASES  # noqa: E402

ROOT = pathlib.Path(__file__).parent.parent
_SPEC = importlib.util.spec_from_file_location("coverage", ROOT / "coverage.py")
coverage = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(coverage)

PAGE = ROOT.parent / "docs" / "numpy.md"
# Types and names, no elements: nothing to draw arrays for.
NO_ELEMENTS = {"can_cast", "common_type", "min_scalar_type", "result_type"}
# Other names of functions that are tested under their own.
ALIASES = {"row_stack", "in1d", "trapz"}


def test_page_is_up_to_date():
    assert PAGE.read_text() == coverage.page(), "docs/numpy.md is stale: run python/coverage.py docs/numpy.md"


def test_every_compiled_function_is_tried():
    tried = {case.name for case in CASES}
    missing = []
    for module, prefix in ((np, ""), (np.linalg, "linalg."), (np.fft, "fft.")):
        for name, status, _ in coverage.rows(module, prefix):
            function = getattr(module, name.removeprefix(prefix))
            known = name in tried | NO_ELEMENTS | ALIASES | coverage.MAKERS
            if status != "refused" and not known and not isinstance(function, np.ufunc):
                missing.append(name)
    assert not missing
