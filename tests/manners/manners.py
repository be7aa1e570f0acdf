"""How the command behaves towards people and scripts: --json gives one line of JSON whatever comes of it, `-` is standard
input, wrong names are answered with right ones, a terminal sees what takes long, and Ctrl-C ends everything at once.

usage: manners.py XLA SMALL.hlo GRAPH
"""

import json
import os
import pathlib
import pty
import select
import signal
import subprocess
import sys
import tempfile
import time

SLOW = """HloModule slow
less { s = (s64[]) parameter(0) i = s64[] get-tuple-element(s), index=0 n = s64[] constant(1000000000000)
  ROOT l = pred[] compare(i, n), direction=LT }
next { s = (s64[]) parameter(0) i = s64[] get-tuple-element(s), index=0 o = s64[] constant(1) j = s64[] add(i, o)
  ROOT t = (s64[]) tuple(j) }
ENTRY e { z = s64[] parameter(0) t = (s64[]) tuple(z) w = (s64[]) while(t), condition=less, body=next
  ROOT r = s64[] get-tuple-element(w), index=0 }
"""
WRONG = (
    "HloModule w\nENTRY e { a = f32[1] constant({1}) b = f32[1] constant({2}) ROOT t = (f32[1], f32[1]) tuple(a, b) }\n"
)
# Generous: a loaded machine must not fail a test that a quiet one passes by ten times.
SECONDS_TO_END = 2.0


class Checker:
    def __init__(self, xla):
        self.xla, self.failed = xla, 0

    def expect(self, what, ok, got=""):
        if not ok:
            self.failed += 1
            print(f"FAILED: {what}: {got}")

    def run(self, *args, **more):
        return subprocess.run([self.xla, *args], capture_output=True, text=True, timeout=300, **more)

    def line(self, status, keys, *args, **more):
        """stdout must be one line, an object with at least these keys."""
        done = self.run(*args, **more)
        lines = done.stdout.splitlines()
        try:
            found = json.loads(lines[0]) if len(lines) == 1 else None
        except json.JSONDecodeError:
            found = None
        ok = done.returncode == status and isinstance(found, dict) and set(keys) <= set(found)
        self.expect(" ".join(args), ok, done)
        return found or {}

    def interrupted(self, *args):
        """Ctrl-C must end it."""
        process = subprocess.Popen(
            [self.xla, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True
        )
        time.sleep(1.5)
        if process.poll() is not None:
            self.expect(f"{args} still runs", False, process.communicate())
            return
        start = time.monotonic()
        os.killpg(process.pid, signal.SIGINT)
        try:
            code = process.wait(60)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            code = "it goes on"
        took = time.monotonic() - start
        print(f"Ctrl-C ended `xla {' '.join(args)}` in {took:.3f} s")
        self.expect(f"Ctrl-C ends {args}", code == -signal.SIGINT and took < SECONDS_TO_END, (code, took))

    def terminal(self, *args):
        """What a terminal sees on stderr within some seconds."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen([self.xla, *args], stdout=subprocess.DEVNULL, stderr=theirs)
        os.close(theirs)
        seen, end = b"", time.monotonic() + 8
        while time.monotonic() < end and seen.count(b"\xe2\x80\xa6") < 2:
            if select.select([ours], [], [], 0.2)[0]:
                seen += os.read(ours, 4096)
        process.send_signal(signal.SIGINT)
        process.wait(60)
        if select.select([ours], [], [], 1)[0]:
            seen += os.read(ours, 4096)
        os.close(ours)
        return seen.decode()


def check_json(check, small, graph):
    module = {"module", "compile_s", "outputs", "temp_bytes", "evaluated"}
    error = {"error", "code"}
    check.line(0, {"version", "commit", "llvm", "cpu"}, "--version", "--json")
    check.line(0, {"help"}, "--json", "--help")
    check.line(2, error, "--json")
    check.line(2, error, "bogus", "--json")
    for command in ("replay", "check", "graph", "opt", "reduce", "view"):
        check.line(0, {"help"}, command, "--help", "--json")
        check.line(2, error, command, "--json")
        check.line(2, error, command, "--json", "nofile.hlo", "-o", "x.html")
        check.line(2, error, command, "--bogus", "--json")
    check.line(0, module, "replay", small, "--json", "--compile_only")
    found = check.line(0, module | {"agree"}, "replay", small, "--json", "--against=interpreter", "--threads=1")
    check.expect("the platforms agree", found.get("agree") is True and found.get("differences") == [], found)
    check.line(2, error, "replay", small, "--json", "--bisect")
    check.line(2, error, "replay", small, "--json", "--platform=gpu")
    check.line(0, {"text", "instructions", "passes"}, "opt", small, "--json")
    check.line(0, {"plan"}, "opt", small, "--json", "--plan")
    found = check.line(0, {"after", "rules"}, "opt", small, "--json", "--stats", "--print_after=.")
    check.expect("--print_after shows stages", len(found.get("after", [])) > 1, found)
    check.line(0, {"written"}, "opt", small, "--json", "-o", "out.hlo")
    check.line(0, {"passes"}, "opt", "--json", "--list")
    check.line(0, {"written"}, "view", small, "--json", "-o", "out.html")
    found = check.line(1, {"passed", "failed", "failures"}, "check", "manifest.tsv", "--json")
    check.expect("check names what fails", [f["program"] for f in found.get("failures", [])] == ["wrong"], found)
    found = check.line(0, {"text"}, "reduce", small, "--json", "--command=false", "--seconds=20")
    check.expect("reduce shrinks", found.get("instructions_after", 9) < found.get("instructions_before", 0), found)
    check.line(0, {"graph", "cases"}, "graph", graph, "--json")
    check.line(0, {"graph", "cases"}, "graph", graph, "--json", "--explain")


def check_names(check, small):
    for meant, args in (
        ("`xla replay`", ["repaly"]),
        ("`xla check`", ["chekc"]),
        ("`--threads`", ["replay", small, "--thread=1"]),
        ("`--output_dir`", ["replay", small, "--output-dir=x"]),
        ("`--optimized`", ["view", small, "--optimised"]),
    ):
        done = check.run(*args)
        check.expect(f"{args} is answered", done.returncode == 2 and f"did you mean {meant}?" in done.stderr, done)
    check.expect("nonsense is not", "did you mean" not in check.run("replay", small, "--xyzzy").stderr)


def check_stdin(check, small):
    text = pathlib.Path(small).read_text()
    found = check.line(0, {"module"}, "replay", "-", "--json", "--against=interpreter", input=text)
    check.expect("the module has a name", found.get("module") == "stdin", found)
    check.line(0, {"text"}, "opt", "-", "--json", "--passes=none", input=text)
    check.line(0, {"written"}, "view", "-", "--json", "-o", "in.html", input=text)
    done = check.run("replay", "-", input=text[:-40])
    check.expect("errors name it", done.returncode == 2 and "standard input: line" in done.stderr, done)


def main():
    check, small, graph = (
        Checker(os.path.abspath(sys.argv[1])),
        os.path.abspath(sys.argv[2]),
        os.path.abspath(sys.argv[3]),
    )
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        pathlib.Path("slow.hlo").write_text(SLOW)
        pathlib.Path("wrong.hlo").write_text(WRONG)
        pathlib.Path("manifest.tsv").write_text("program\tcheck\tpairs\nwrong\teq\t1\n")
        pathlib.Path("slow.tsv").write_text("program\tcheck\tpairs\nslow\teq\t1\n")
        check_json(check, small, graph)
        check_names(check, small)
        check_stdin(check, small)
        done = check.run("--version")
        check.expect(
            "--version", done.returncode == 0 and all(w in done.stdout for w in ("commit", "LLVM", "CPU")), done
        )
        check.interrupted("replay", "slow.hlo")
        check.interrupted("replay", "slow.hlo", "--platform=interpreter")
        check.interrupted("check", "slow.tsv")
        check.interrupted("reduce", small, "--command=sleep 100;")
        seen = check.terminal("replay", "slow.hlo", "--platform=interpreter")
        check.expect("a terminal sees progress", "running … " in seen and seen.endswith("\r\x1b[K"), repr(seen))
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
