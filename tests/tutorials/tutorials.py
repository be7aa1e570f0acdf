"""Follows the tutorials to the letter: writes their files, runs their commands, compares what they print.

usage: tutorials.py NAME ROOT TOOL PYTHON_PACKAGE LIBRARY [PLUGIN TF.py]

In a tutorial, `<!-- file: NAME -->` before a block makes it that file, a block of `sh` is run, and a block of `text` after
one is what it prints, where "…" stands for anything. `<!-- not run -->` before a block leaves it out.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

BLOCK = re.compile(r"(?:<!-- (?P<note>[^\n]*) -->\n)?```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.M | re.S)


def blocks(page):
    """(note, kind, text) of each block."""
    return [(m["note"] or "", m["kind"], m["text"]) for m in BLOCK.finditer(page)]


def pattern(expected):
    """What `expected` matches: a line of "…" alone stands for any lines, in a line it stands for any text."""
    lines = []
    for line in expected.splitlines():
        lines.append(r"(?:[^\n]*\n)*?" if line.strip() == "…" else re.escape(line).replace("…", r"[^\n]*") + r"[ ]*\n")
    return re.compile("".join(lines))


class Tutorial:
    def __init__(self, folder, environment, prelude):
        self.folder, self.environment, self.prelude = folder, environment, prelude
        self.printed = ""
        self.commands = 0

    def run(self, text, with_plugin):
        environment = dict(self.environment)
        if with_plugin:
            environment["PYTHONSTARTUP_CODE"] = self.prelude
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", text], cwd=self.folder, env=environment, capture_output=True, text=True
        )
        self.printed = done.stdout
        self.commands += 1
        if done.returncode:
            raise AssertionError(f"$ {text}exit status {done.returncode}\n{done.stdout}{done.stderr}")

    def follow(self, page):
        ran = False
        for note, kind, text in blocks(page):
            if note == "not run":
                ran = False
            elif note.startswith("file: "):
                (self.folder / note.removeprefix("file: ")).write_text(text)
            elif kind == "sh":
                self.run(text, note == "with the plugin")
                ran = True
            elif kind == "text" and ran:
                if not pattern(text).fullmatch(self.printed.rstrip("\n") + "\n"):
                    raise AssertionError(f"the tutorial says\n{text}\nbut there is\n{self.printed}")


def write_programs(folder, tool, python, prelude):
    """`xla` and `python` as the tutorials call them; with the plugin, Python loads it first, as the wheel does."""
    folder.mkdir()
    (folder / "xla").symlink_to(os.path.abspath(tool))
    start = f'#!/bin/bash\n[[ -z ${{PYTHONSTARTUP_CODE:-}} || ! -e ${{1:-}} ]] && exec {python} "$@"\n'
    start += f'exec {python} -c "$PYTHONSTARTUP_CODE" "$@"\n'
    (folder / "python").write_text(start)
    (folder / "python").chmod(0o755)


def main():
    name, root, tool, package, library = sys.argv[1:6]
    plugin, tf = sys.argv[6:8] if len(sys.argv) > 7 else ("", "")
    prelude = f"""
import runpy, sys
import tensorflow
sys.path.insert(0, "")
import importlib.util
spec = importlib.util.spec_from_file_location("xla_tensorflow", {os.path.abspath(tf)!r})
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
module.load({os.path.abspath(plugin)!r})
sys.modules["xla_tensorflow"] = module
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
    page = (pathlib.Path(root) / "docs" / "tutorials" / f"{name}.md").read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        place = pathlib.Path(folder)
        write_programs(place / "bin", tool, sys.executable, prelude)
        (place / "work").mkdir()
        environment = dict(os.environ, PATH=f"{place / 'bin'}:{os.environ['PATH']}", TF_CPP_MIN_LOG_LEVEL="2")
        environment |= {"XC": os.path.abspath(root), "LIB": os.path.dirname(os.path.abspath(library))}
        environment |= {"CUDA_VISIBLE_DEVICES": ""}
        if not plugin:
            environment["PYTHONPATH"] = os.path.abspath(package)
        tutorial = Tutorial(place / "work", environment, prelude)
        started = time.monotonic()
        tutorial.follow(page)
        assert tutorial.commands, "the tutorial has no command"
        print(f"{name}: {tutorial.commands} commands in {time.monotonic() - started:.1f} s")


if __name__ == "__main__":
    main()
