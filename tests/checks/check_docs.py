"""Files that the documentation names exist: links to other pages, and paths in code marks. Environment variables that the
sources read are in its table."""

import re
import sys

from files import list_files, read_lines, ROOT

LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
# A path of this repository as code: `jit/lowering/dynamic_array.h`, `compiler/**/x.cc` with a star for any folder.
PATH = re.compile(r"`([a-z_]+(?:/[A-Za-z0-9_.*-]+)+\.(?:h|cc|c|py|md|def|proto|sh|bzl))`")


# A variable of ours, in the sources as a text by itself, and the settings of the TensorFlow plugin, which become ones.
VARIABLE = re.compile(r"""["'](XC_[A-Z_]*[A-Z])["']""")
SETTING = re.compile(r'^ +(?:\w+Row\(|\{)"([a-z_]+)",', re.M)
SETTINGS, VARIABLES = "jit/plugin/settings.cc", "docs/environment.md"


def undocumented_variables():
    table = (ROOT / VARIABLES).read_text(encoding="utf-8")
    found = {}
    for path in list_files(".cc", ".h", ".py"):
        if not path.startswith("tests/checks/"):
            found |= {name: path for line in read_lines(path) for name in VARIABLE.findall(line)}
    names = SETTING.findall((ROOT / SETTINGS).read_text(encoding="utf-8"))
    found |= {f"XC_TF_{name.upper()}": SETTINGS for name in names}
    wrong = [
        f"{path}: reads {name}, which {VARIABLES} lacks" for name, path in found.items() if f"`{name}`" not in table
    ]
    return wrong if len(names) > 9 else [*wrong, f"{SETTINGS}: no settings were found by {__file__}"]


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
    wrong += undocumented_variables()
    print("\n".join(wrong))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
