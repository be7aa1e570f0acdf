"""Every source file opens with a comment that says what it is for, is no longer than the ceiling but for a few named ones, ends with a line end,
and names no place on somebody's machine."""

import re
import sys

from files import list_files, read_lines, ROOT

MAX_LINES = 500
# Files above it, with the reason. All others are split by purpose.
LONG_FILES = {
    "docs/ops.md": "written by //jit/tool:op_report, one row per op",
    "jit/graph/op_table.def": "one table, one row per op",
}
OPENING = {
    (".h", ".cc", ".c", ".proto", ".cpp"): r"//|/\*",
    (".py",): r'"""|#',
    (".bzl",): r'"""|#',
}
# Built so that this file does not name them itself.
PLACES = re.compile("|".join(["/" + "work/", "/" + "tmp/w/", "/" + "home/[a-z]", "/" + "root/", "/" + r"Users/"]))
# It ends the process where there is no memory for its text.
UNSAFE_FORMAT = re.compile(r"absl::Str(Append)?Format\(")
LEFTOVERS = re.compile(r"\b(" + "TO" + "DO|FIX" + r"ME|XX" + r"X)\b")
SOURCES = (".h", ".cc", ".c", ".cpp", ".def", ".proto", ".py", ".bzl", ".bazel", ".BUILD", ".md", ".txt")


def wrong_length(path, lines):
    if lines > MAX_LINES and path not in LONG_FILES:
        return [f"{path}: {lines} lines, at most {MAX_LINES}: split it by purpose"]
    if lines <= MAX_LINES and path in LONG_FILES:
        return [f"{path}: {lines} lines: take it out of LONG_FILES in check_files.py"]
    return []


def main():
    paths = list_files()
    wrong = [
        f"LONG_FILES in check_files.py names {path}, which does not exist" for path in LONG_FILES.keys() - set(paths)
    ]
    for path in paths:
        if not path.endswith(SOURCES) and "." in path.rsplit("/", 1)[-1]:
            continue
        data = (ROOT / path).read_bytes()
        if b"\0" in data or not data:
            continue
        lines = read_lines(path)
        wrong += wrong_length(path, len(lines))
        if not data.endswith(b"\n"):
            wrong.append(f"{path}: no line end at the end")
        # The header of the same name speaks for its source file.
        own_header = path.endswith(".cc") and lines[0] == f'#include "{path[:-3]}.h"'
        for suffixes, opening in OPENING.items():
            if own_header:
                continue
            if path.endswith(suffixes) and not re.match(opening, lines[0]) and not path.endswith("__init__.py"):
                wrong.append(f"{path}:1: no opening comment that says what the file is for")
        for number, line in enumerate(lines, 1):
            if PLACES.search(line):
                wrong.append(f"{path}:{number}: names a place on one machine: {line.strip()}")
            if UNSAFE_FORMAT.search(line) and path.endswith((".cc", ".h")):
                wrong.append(f"{path}:{number}: use Format of hlo/base/format.h: {line.strip()}")
            if path.endswith(SOURCES) and LEFTOVERS.search(line):
                wrong.append(f"{path}:{number}: unfinished: {line.strip()}")
    print("\n".join(wrong))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
