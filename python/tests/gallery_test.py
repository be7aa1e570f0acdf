"""Every program of examples/gallery gives compiled what it gives as plain NumPy, at small size."""

import importlib
import pathlib
import sys

import numpy as np
import pytest

HERE = pathlib.Path(__file__).absolute()
GALLERY = next(p / "examples" / "gallery" for p in HERE.parents if (p / "examples" / "gallery").is_dir())
sys.path.insert(0, str(GALLERY))
run = importlib.import_module("run")


@pytest.mark.parametrize("name", run.NAMES)
def test_results_are_equal(name):
    module = importlib.import_module(name)
    arguments = module.inputs(True, np.random.default_rng(1))
    want = module.program.__wrapped__(*arguments)
    run.compare(module.program(*arguments), want)


def test_all_programs_are_listed():
    assert sorted(run.NAMES) == sorted(p.stem for p in GALLERY.glob("*.py") if p.stem != "run")


def test_plot_shows_every_program():
    text = run.plot([("one", 1.0, 0.1, 0.4), ("two", 1.0, 0.1, 0.05)])
    assert text.count("<rect") == 3 and "4.0×" in text and "0.5×" in text
