"""Runs pytest on files, with the package of the runfiles tree on the path and the result where Bazel counts cases.

usage: pytest_runner.py FILE_test.py…
"""

import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).parent
os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
sys.path.insert(0, str(ROOT))
sys.dont_write_bytecode = True

import pytest  # noqa: E402  (after the path is set)

arguments = ["-q", "-p", "no:cacheprovider", "--rootdir", str(ROOT)]
if "XML_OUTPUT_FILE" in os.environ:
    arguments += ["--junitxml", os.environ["XML_OUTPUT_FILE"]]
sys.exit(pytest.main(arguments + sys.argv[1:]))
