"""Licences and notices of what is in a wheel beside the project's own code: those of the Debian packages that its files
come from, and of parts that are named."""

import collections
import os
import pathlib
import re
import subprocess

COMMON = pathlib.Path("/usr/share/common-licenses")
# What a linker option -lNAME and -l:FILE means, beside the folders of -L options.
FOLDERS = ["/usr/lib/x86_64-linux-gnu", "/usr/lib/gcc/x86_64-linux-gnu/12"]

# Archives without code, for programs that still name these parts of the C library.
EMPTY = {"libdl.a", "libpthread.a", "librt.a"}

# What the pages that the core library writes hold: dagre, which is packed with the two others (service/page).
IN_PAGES = [
    "/usr/share/nodejs/dagre/dist/dagre.min.js",
    "/usr/share/nodejs/graphlib/package.json",
    "/usr/share/nodejs/lodash/package.json",
]


def archives(options):
    """The static archives that linker options take in, in the order of the options."""
    folders = FOLDERS + [option[2:] for option in options if option.startswith("-L")]
    found = []
    for option in options:
        if not option.startswith("-l"):
            continue
        names = [option[3:]] if option.startswith("-l:") else [f"lib{option[2:]}.so", f"lib{option[2:]}.a"]
        for path in (os.path.join(folder, name) for name in names for folder in folders):
            if os.path.isfile(path):
                if path.endswith(".a") and os.path.basename(path) not in EMPTY and path not in found:
                    found.append(path)
                break
    return found


def packages_of(files):
    """The Debian package of each file."""
    owners = {}
    for file in files:
        real = os.path.realpath(file)
        # Packages name what lies in /usr/lib as /lib, too.
        for path in [real, real.removeprefix("/usr"), file]:
            asked = subprocess.run(["dpkg-query", "-S", path], capture_output=True, text=True)
            if asked.returncode == 0:
                owners[file] = asked.stdout.splitlines()[0].split(": ")[0].split(",")[0].split(":")[0]
                break
        else:
            raise SystemExit(f"no package has {file}: nothing says under which licence it comes")
    return owners


def describe(package):
    """The source package, and the binary package with its version."""
    wanted = "-f=${source:Package}\n${Package} ${Version}"
    shown = subprocess.run(["dpkg-query", "-W", wanted, package], check=True, capture_output=True, text=True)
    source, name = shown.stdout.splitlines()[:2]
    return source, name


def read_copyright(package):
    path = pathlib.Path("/usr/share/doc", package, "copyright")
    if not path.is_file():
        raise SystemExit(f"{package} has no {path}: a wheel cannot carry it")
    return path.read_text(encoding="utf-8")


def debian_notices(files):
    """Texts by file name: one for each source package that files of the wheel come from, and the licences that Debian
    keeps in one place for all, where one of them says to look there."""
    by_source = collections.defaultdict(set)
    for package in set(packages_of(files).values()):
        source, name = describe(package)
        by_source[source].add((name, read_copyright(package)))
    notices = {}
    for source, members in sorted(by_source.items()):
        names = ", ".join(sorted(name for name, _ in members))
        texts = sorted({text for _, text in members})
        notices[f"{source}.txt"] = f"{source}: from {names}\n\n" + "\n\n".join(texts)
    for name in sorted(set(re.findall(rf"{COMMON}/([A-Za-z0-9.-]+[A-Za-z0-9])", "\n".join(notices.values())))):
        # A name without a version stands for the newest one.
        notices[f"common/{name}.txt"] = (COMMON / name).read_text(encoding="utf-8")
    return notices


def named_notice(path):
    """A text, or the comment with which a source file opens."""
    text = pathlib.Path(path).read_text(encoding="utf-8")
    if not path.endswith((".h", ".hpp")):
        return text
    opening = re.match(r"/\*(.*?)\*/", text, re.DOTALL)
    if not opening:
        raise SystemExit(f"{path} opens with no licence")
    return "".join(re.sub(r"^ ?\* ?", "", line).rstrip() + "\n" for line in opening[1].strip("* \n").splitlines())
