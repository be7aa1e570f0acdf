"""Makes the documentation as a site of static pages from docs/, the docstrings of python/xla and the C headers.

usage: build.py OUT   (with a Python that has third_party/requirements-docs.txt; `docs/site/build` sees to that)
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import c_reference
import python_reference

ROOT = pathlib.Path(__file__).resolve().parents[2]
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)#:\s]+)(#[^)]*)?\)")
# Pages of other folders that the site has, and their names there.
ALSO = {
    "README.md": "README.md",
    "CHANGELOG.md": "CHANGELOG.md",
    "CONTRIBUTING.md": "CONTRIBUTING.md",
    "benchmarks/README.md": "benchmarks.md",
    "benchmarks/results.md": "benchmark_results.md",
    "benchmarks/results_python.md": "benchmark_results_python.md",
    "benchmarks/results_tensorflow.md": "benchmark_results_tensorflow.md",
}
# What follows on a page of docs/.
GENERATED = {"docs/api/c.md": c_reference.reference, "docs/api/python.md": python_reference.reference}


def pages():
    """{path in the repository: path in the site}"""
    own = [p.relative_to(ROOT) for p in (ROOT / "docs").rglob("*.md") if "site" not in p.parts]
    return {str(p): str(p.relative_to("docs")) for p in own} | ALSO


def with_links(text, path, known):
    """`text` of the page `path` with links to pages as the site has them; other files of the repository become names."""

    def replaced(match):
        mark, title, target, anchor = match.groups()
        found = os.path.normpath(os.path.join(os.path.dirname(path), target))
        if found in known:
            return f"[{title}]({os.path.relpath(known[found], os.path.dirname(known[path]) or '.')}{anchor or ''})"
        return match[0] if mark else f"{title} (`{found}`)"

    return LINK.sub(replaced, text)


def main():
    out = pathlib.Path(sys.argv[1]).resolve()
    known = pages()
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder)
        for path, place in known.items():
            if not (ROOT / path).exists():
                continue
            page = source / place
            page.parent.mkdir(parents=True, exist_ok=True)
            text = with_links((ROOT / path).read_text(encoding="utf-8"), path, known)
            if path in ALSO and path not in ("CHANGELOG.md", "CONTRIBUTING.md"):
                text = "---\norphan: true\n---\n" + text
            if path in GENERATED:
                text += "\n" + GENERATED[path](ROOT)
            page.write_text(text, encoding="utf-8")
        shutil.copytree(ROOT / "docs" / "pictures", source / "pictures", dirs_exist_ok=True)
        environment = dict(os.environ, XC_SITE_PYTHON=str(ROOT / "python"))
        command = [
            sys.executable,
            "-m",
            "sphinx",
            "-q",
            "-W",
            "--keep-going",
            "-b",
            "html",
            "-c",
            ROOT / "docs" / "site",
        ]
        return subprocess.run([*map(str, command), str(source), str(out)], env=environment).returncode


if __name__ == "__main__":
    sys.exit(main())
