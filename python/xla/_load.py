"""Opens the core library that lies beside the package, when the package is imported."""

import os

from . import _core

_HERE = os.path.dirname(os.path.abspath(__file__))
LIBRARY = os.path.join(_HERE, "libxc.so")
TOOL = os.path.join(_HERE, "bin", "xla")

_core.load(LIBRARY)
