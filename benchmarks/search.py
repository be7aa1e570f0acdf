"""Searches for modules that run slower than XLA's CPU backend (the jaxlib wheel) runs them.

    third_party/install --peers && third_party/bazel build //:libxc.so
    python3 benchmarks/search.py --out=FILE.json [--count=2000] [--seed=1] [--only=REGEX] [--cpus=0]

Modules are those of search_modules.py, search_movement.py, search_random.py and search_programs.py: --count of them
by --seed, or all whose names match --only. Both sides run in one process, in turn; ratios above 0.9 are measured again,
longer. FILE.json has a row for each module, FILE.md the summary: what is slower, by cause. README.md in this folder says
more.
"""

import argparse
import json
import math
import pathlib
import queue
import random
import re
import subprocess
import sys
import threading

import measure

ROOT = measure.ROOT
SLOWER, MUCH_SLOWER = 1.05, 1.5


class Process:
    """A worker, started again when it ended or took too long: a crash costs one module."""

    def __init__(self, library, cpus, timeout):
        self.command = [measure.PEERS, ROOT / "benchmarks/search_worker.py", library, cpus]
        self.timeout, self.process, self.asked = timeout, None, 0

    def start(self):
        environment = measure.ENVIRONMENT | measure.ONE_HEAP
        self.process = subprocess.Popen(
            ["env", *(f"{k}={v}" for k, v in environment.items()), *self.command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.lines, self.asked = queue.Queue(), 0
        lines, stream = self.lines, self.process.stdout

        def read():
            for line in stream:
                lines.put(line)
            lines.put("")

        threading.Thread(target=read, daemon=True).start()
        ready = self.answer(120)
        if "ready" not in ready:
            sys.exit(f"the worker did not start: {ready.get('error')}")

    def answer(self, timeout):
        try:
            line = self.lines.get(timeout=timeout)
        except queue.Empty:
            self.stop()
            return dict(error=f"took more than {timeout:.0f} s")
        if not line:
            code = self.process.wait()
            self.process = None
            return dict(error=f"the process ended with {code}")
        return json.loads(line)

    def ask(self, request):
        if self.process and self.asked >= 300:
            self.stop()  # memory that modules leave behind
        if not self.process:
            self.start()
        self.asked += 1
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return dict(name=request["name"]) | self.answer(self.timeout)

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None


def names(options):
    """Of the modules to run: those that match, or a sample, half of it random modules and JAX's programs."""
    listing = subprocess.run(
        [measure.PEERS, ROOT / "benchmarks/search_worker.py", "--names"], capture_output=True, text=True
    )
    every = listing.stdout.split()
    if not every:
        sys.exit(f"no names of modules: {measure.last_words(listing.stderr)}")
    every += [f"random/{options.seed}/{i}" for i in range(options.count)]
    if options.only:
        return [n for n in every if re.search(options.only, n)][: options.count]
    chosen, share = [], options.count // 4
    pick = random.Random(options.seed)
    for family, count in (("random/", share), ("jax/", share), ("", options.count - 2 * share)):
        fitting = [n for n in every if n.startswith(family) and n not in chosen]
        if not family:
            fitting = [n for n in fitting if not n.startswith(("random/", "jax/"))]
        chosen += pick.sample(fitting, min(count, len(fitting)))
    pick.shuffle(chosen)
    return chosen


def passes(library):
    """The names of the passes that a module can be compiled without."""
    tool = ROOT / "bazel-bin/tools/xla"
    listing = subprocess.run([tool, "opt", "--list"], capture_output=True, text=True)
    return [line.split()[1] for line in listing.stdout.splitlines() if line.strip() and "(Required.)" not in line]


def cause(row):
    """What a slow row is grouped by: what is evaluated, the pass that made it slow, or its family, operation, type."""
    if row.get("evaluated"):
        return "evaluated: " + row["evaluated"][0].split()[0]
    if row.get("without"):
        return "slower by the pass " + min(row["without"], key=row["without"].get)
    parts = row["name"].split("/")
    return "/".join(parts[:1] if parts[0] == "random" else parts[:3])


def differences(row):
    found = [row.get(key, math.nan) for key in ("difference", "ours_to_interpreter", "xla_to_interpreter")]
    return "{:.2g} ({:.2g}, {:.2g})".format(*found)


def summary(state):
    """FILE.md: means and counts, then everything slower, grouped, the worst first."""
    rows = state["rows"].values()
    timed = [r for r in rows if r.get("ratio")]
    slow = [r for r in timed if r["ratio"] > SLOWER]
    header = state["header"]
    lines = ["# Search for modules slower than XLA", ""]
    lines += [
        f"Commit {header['commit']}, {header['cpu']}, processors {header['cpus_used']}, seed {header['seed']}.",
        "",
    ]
    lines += [
        f"{len(rows)} modules, {len(timed)} with a ratio (ours / XLA's; the others take less than a call, or one side "
        f"refuses them): geometric mean {measure.number(measure.geometric_mean([r['ratio'] for r in timed]), '.3f')}, "
        f"above {SLOWER}: {len(slow)}, above {MUCH_SLOWER}: {sum(r['ratio'] > MUCH_SLOWER for r in slow)}."
    ]
    for key, text in (("compile_s", "compile time"), ("temp", "temporary memory")):
        pairs = [(r[f"ours_{key}"], r[f"xla_{key}"]) for r in timed if r.get(f"xla_{key}") and r.get(f"ours_{key}")]
        mean = measure.geometric_mean([a / b for a, b in pairs])
        lines += [f"Geometric mean of {text}: {measure.number(mean, '.3f')} of XLA's."]
    groups = {}
    for row in slow:
        groups.setdefault(cause(row), []).append(row)
    lines += ["", "| cause | modules | worst | ours µs | XLA µs | of |", "|---|---|---|---|---|---|"]
    for name, members in sorted(groups.items(), key=lambda g: -max(r["ratio"] for r in g[1])):
        worst = max(members, key=lambda r: r["ratio"])
        lines.append(
            f"| {name} | {len(members)} | {worst['ratio']:.2f} | {worst['ours_us']:.1f} | {worst['xla_us']:.1f} | "
            f"{worst['name']} |"
        )
    for title, chosen in (
        ("Refused or failed here", [(r, r["error"]) for r in rows if r.get("error")]),
        ("Evaluated", [(r, r["evaluated"][0]) for r in rows if r.get("evaluated")]),
        (
            "Results differ by more than 1 % (and from the interpreter's: ours, XLA's)",
            [(r, differences(r)) for r in rows if not r.get("difference", 0) <= 0.01],
        ),
    ):
        if chosen:
            lines += ["", f"{title}:", "", *(f"- {row['name']}: {text}" for row, text in chosen)]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="regular expression of names")
    parser.add_argument("--cpus", default="0", help="the processors of both sides: 0 or 0,1")
    parser.add_argument("--library", default=ROOT / "bazel-bin/libxc.so", type=pathlib.Path)
    parser.add_argument("--timeout", type=float, default=60.0, help="seconds for one module")
    parser.add_argument("--resume", action="store_true", help="keep the rows that --out has")
    parser.add_argument("--passes", action="store_true", help="time what is slower without each pass, too")
    options = parser.parse_args()
    for needed, how in (
        (options.library, "third_party/bazel build //:libxc.so"),
        (measure.PEERS, "third_party/install --peers"),
    ):
        if not needed.exists():
            sys.exit(f"{needed} does not exist: {how}")
    header = dict(
        commit=measure.commit(),
        cpu=measure.cpu_name(),
        cpus_used=options.cpus,
        seed=options.seed,
        peer=measure.version(measure.PEERS, "jaxlib"),
    )
    state = dict(header=header, rows={})
    if options.resume and options.out.exists():
        state["rows"] = json.loads(options.out.read_text())["rows"]

    def save():
        options.out.write_text(json.dumps(state, indent=1))
        options.out.with_suffix(".md").write_text(summary(state))

    worker, chosen = Process(options.library, options.cpus, options.timeout), names(options)
    try:
        for number, name in enumerate(chosen):
            if name in state["rows"]:
                continue
            row = worker.ask(dict(name=name))
            state["rows"][name] = row
            if row.get("ratio") and row["ratio"] > SLOWER:
                print(f"{number + 1}/{len(chosen)} {row['ratio']:8.2f} {name}", flush=True)
                if options.passes:
                    row |= worker.ask(dict(name=name, passes=passes(options.library)))
            elif row.get("error"):
                print(f"{number + 1}/{len(chosen)} {name}: {row['error']}", flush=True)
            if number % 50 == 0:
                save()
    except KeyboardInterrupt:
        print("stopped; --resume goes on", file=sys.stderr)
    finally:
        worker.stop()
        save()


if __name__ == "__main__":
    main()
