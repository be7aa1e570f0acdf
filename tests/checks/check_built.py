"""Every C++ source and every Python test is named in the BUILD file of its folder, so that none is silently left out."""

import pathlib
import sys

from files import ROOT, list_files


def build_text(folder):
    """The BUILD file that owns a folder, and that folder."""
    for owner in [folder, *folder.parents]:
        for name in ("BUILD.bazel", "BUILD"):
            if (ROOT / owner / name).is_file():
                return owner, (ROOT / owner / name).read_text(encoding="utf-8")
    return folder, ""


def main():
    wrong = []
    for path in map(pathlib.Path, list_files(".cc", ".c", ".h", "_test.py")):
        owner, text = build_text(path.parent)
        name = path.relative_to(owner).as_posix()
        stem = path.stem
        # Named in full, or built from its stem by a list over names, or matched by a glob.
        if f'"{name}"' not in text and f'"{stem}"' not in text and "glob(" not in text:
            wrong.append(f"{path}: not in {owner / 'BUILD.bazel'}")
    print("\n".join(wrong))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
