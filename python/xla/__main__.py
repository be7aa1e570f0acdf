"""`python -m xla` is the command-line tool."""

import os
import sys

from ._load import TOOL

if not os.access(TOOL, os.X_OK):
    sys.exit("xla: this installation has no command-line tool")
os.execv(TOOL, ["xla", *sys.argv[1:]])
