"""Files that the documentation names exist: links to other pages, and paths in code marks."""

import re
import sys

from files import list_files, read_lines, ROOT

LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
# A path of this repository as code: `jit/lowering/dynamic_array.h`, `compiler/**/x.cc` with a star for any folder.
PATH = re.compile(r"`([a-z_]+(?:/[A-Za-z0-9_.*-]+)+\.(?:h|cc|c|py|md|def|proto|sh|bzl))`")


def exists(base, path):
    return any(base.glob(path)) if "*" in path else (base / path).exists()


def main():
    wrong = []
    folders = {path.split("/", 1)[0] for path in list_files() if "/" in path}
    for page in list_files(".md"):
        for number, line in enumerate(read_lines(page), 1):
            for target in LINK.findall(line):
                if not exists((ROOT / page).parent, target):
                    wrong.append(f"{page}:{number}: links to {target}, which does not exist")
            for path in PATH.findall(line):
                if path.split("/", 1)[0] in folders and not exists(ROOT, path):
                    wrong.append(f"{page}:{number}: names {path}, which does not exist")
    print("\n".join(wrong))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
