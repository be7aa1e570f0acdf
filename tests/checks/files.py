"""The files that checks look at: those that git tracks or would track."""

import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def list_files(*suffixes):
    """Relative paths with one of the suffixes (or all), sorted; outside a git checkout the whole tree is walked."""
    listed = subprocess.run(
        ["git", "-c", f"safe.directory={ROOT}", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
    )
    if listed.returncode == 0:
        paths = [os.fsdecode(name) for name in listed.stdout.split(b"\0") if name]
    else:
        paths = []
        for folder, folders, names in os.walk(ROOT):
            folders[:] = [f for f in folders if not f.startswith(("bazel-", ".venv")) and f not in (".git", "dist")]
            paths += [os.path.relpath(os.path.join(folder, name), ROOT) for name in names]
    return sorted({p for p in paths if (not suffixes or p.endswith(suffixes)) and (ROOT / p).is_file()})


def read_lines(path):
    return (ROOT / path).read_text(encoding="utf-8", errors="replace").splitlines()
