"""`python -m xla` is the command-line tool."""

import os
import sys

from ._load import TOOL


def main():
    """Becomes the tool; never returns."""
    if not os.access(TOOL, os.X_OK):
        sys.exit("xla: this installation has no command-line tool")
    os.execv(TOOL, ["xla", *sys.argv[1:]])


if __name__ == "__main__":
    main()
