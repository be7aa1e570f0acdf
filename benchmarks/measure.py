"""What the comparing benchmarks share: processes of two or more sides that take turns, watched for what else the machine
does meanwhile; results that survive an interruption; spreads and means."""

import datetime
import json
import math
import os
import pathlib
import re
import resource
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
PEERS = pathlib.Path(os.environ.get("XC_PEERS_PYTHON") or ROOT / ".venv-peers/bin/python")
SPREAD = 0.15  # of a side's values, from the least to the largest, over their median: above it a row is run again
BUSY = 0.05  # of the machine's processor time, used by others while a row ran: above it a row is run again
ENVIRONMENT = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": ""}
# One heap for all threads of a process: what one thread freed is there for the next one's request (run_peer.py).
ONE_HEAP = {"GLIBC_TUNABLES": "glibc.malloc.arena_max=1"}


class Failure(Exception):
    """A side that could not run, with its own message."""


def busy_seconds():
    """Processor seconds used on this machine since it started, by whatever; time that the host took away included."""
    fields = [int(n) for n in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


def process_seconds(pid):
    """Processor seconds that a process has used."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def cpus():
    return len(os.sched_getaffinity(0))


def last_words(text):
    """Of what a process wrote to its error output: the error, without a trace, marks below a line and folders of files."""
    lines = [line.strip() for line in text.splitlines() if re.search(r"\w", line)]
    errors = [line for line in lines if re.search(r"error: |(Error|Exception|Failure): \S", line)]
    return re.sub(r"(?<![\w.])/(?:[\w.-]+/)+", "", (errors or lines or ["no message"])[-1])[:300]


def child(command, timeout=600.0, environment=None):
    """Runs a process that prints a JSON line. Gives what it printed, and `wall_s`, `own_s` (its processor time) and
    `others_s` (that of all other processes of the machine in that time). It is stopped when this one is."""
    before, start, mine = busy_seconds(), time.perf_counter(), time.process_time()
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen(
            [str(c) for c in command],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            env={**os.environ, **ENVIRONMENT, **(environment or {})},
        )
        # A side that takes too much gets an error of its own, before the system begins to kill processes.
        memory = int(0.9 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        resource.prlimit(process.pid, resource.RLIMIT_DATA, (memory, memory))
        late = []
        timer = threading.Timer(timeout, lambda: (late.append(True), process.kill()))
        timer.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        except BaseException:
            process.kill()
            process.wait()
            raise
        finally:
            timer.cancel()
        wall, own = time.perf_counter() - start, usage.ru_utime + usage.ru_stime
        others = max(0.0, busy_seconds() - before - own - (time.process_time() - mine))
        out.seek(0)
        err.seek(0)
        if process.returncode:
            if late:
                raise Failure(f"took more than {timeout:.0f} s")
            if process.returncode == -signal.SIGKILL:
                raise Failure("was killed (out of memory?)")
            raise Failure(last_words(err.read() or out.read()))
        try:
            answer = json.loads(out.read().strip().splitlines()[-1])
        except (IndexError, ValueError):
            raise Failure("printed no JSON line") from None
    answer.update(wall_s=wall, own_s=own, others_s=others)
    answer.setdefault("rss_mb", usage.ru_maxrss // 1024)
    return answer


def spread(values):
    """Of a side's values; None where there are fewer than two."""
    return (max(values) - min(values)) / statistics.median(values) if len(values) > 1 else None


class Samples:
    """What the sides of a row measured, in the order of their turns, and why a side did not run."""

    def __init__(self, sides):
        self.samples = {side: [] for side in sides}
        self.problems = {}

    def spreads(self, key):
        return [s for rows in self.samples.values() if (s := spread([r[key] for r in rows])) is not None]

    def busy(self):
        rows = [r for side in self.samples.values() for r in side if "wall_s" in r]
        return sum(r["others_s"] for r in rows) / (sum(r["wall_s"] for r in rows) * os.cpu_count()) if rows else 0.0


def one_set(sides, pairs, seconds):
    result, start, longest = Samples(sides), time.perf_counter(), 0.0
    for number in range(pairs):
        begin = time.perf_counter()
        if number and begin - start + longest > seconds:
            break
        for side, run in sides.items():
            if side in result.problems:
                continue
            try:
                result.samples[side].append(run())
            except Failure as failure:
                result.problems[side] = str(failure)
                result.samples[side] = []
        if len(result.problems) == len(sides):
            break
        longest = max(longest, time.perf_counter() - begin)
    return result


def take_turns(sides, pairs=5, seconds=40.0, key="run_ms"):
    """`sides`: name → function that measures once and gives a dict. Each side in turn, `pairs` times, or as often as fits
    into `seconds` (once at least). Where a side's values of `key` lie further apart than SPREAD, or others used the
    machine, all is run once more, and the set with the smaller spreads counts. Gives what a table keeps of it."""
    first = one_set(sides, pairs, seconds)
    best, again = first, False
    if max(first.spreads(key), default=0.0) > SPREAD or first.busy() > BUSY:
        again = True
        second = one_set(sides, pairs, seconds)
        if not second.problems and max(second.spreads(key), default=0.0) < max(first.spreads(key), default=0.0):
            best = second
    return dict(
        samples=best.samples,
        problems=best.problems,
        again=again,
        unsteady=max(best.spreads(key), default=0.0) > SPREAD,
        busy=best.busy(),
    )


def median(rows, key):
    values = [r[key] for r in rows if key in r]
    return statistics.median(values) if values else None


def median_ratio(a, b, key):
    """The median over pairs of a side's value over the other's; None without both."""
    values = [x[key] / y[key] for x, y in zip(a, b) if y.get(key)]
    return statistics.median(values) if values else None


def geometric_mean(values):
    values = [v for v in values if v is not None and 0 < v < math.inf]
    return math.exp(statistics.fmean(map(math.log, values))) if values else None


def number(value, form=".2f", scale=1.0):
    return "–" if value is None else format(value * scale, form)


def cpu_name():
    found = re.search(r"model name\s*:\s*(.*)", pathlib.Path("/proc/cpuinfo").read_text())
    return found[1].strip() if found else "unknown CPU"


def commit():
    def git(*words):
        return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True).stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no")
    return (git("rev-parse", "--short=12", "HEAD") or "unknown") + (" with changes" if changed else "")


def version(python, package):
    code = f"import importlib.metadata as m; print(m.version({package!r}))"
    done = subprocess.run([str(python), "-c", code], capture_output=True, text=True)
    return f"{package} {done.stdout.strip()}" if done.returncode == 0 else f"{package} (missing)"


def plugin_tools():
    """The module that talks to the plugin in this process (python/xla/tf.py), also where no wheel is installed."""
    import importlib.util

    spec = importlib.util.spec_from_file_location("plugin_tools", ROOT / "python/xla/tf.py")
    module = sys.modules["plugin_tools"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Worker:
    """A process that prints a line of JSON (`first`), and then answers each line of its standard input with one."""

    def __init__(self, command):
        pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.process = subprocess.Popen(command, text=True, **pipes)
        self.error = ""  # why it has ended
        self.first = self.read()

    def read(self):
        line = self.process.stdout.readline()
        if line:
            return json.loads(line)
        if not self.error:
            self.error = last_words(self.process.communicate()[1])
        return None

    def ask(self, *words):
        """The answer; None where the process has ended."""
        if self.error:
            return None
        try:
            print(*words, file=self.process.stdin, flush=True)
        except BrokenPipeError:
            pass
        return self.read()

    def pause(self, paused):
        if not self.error:
            self.process.send_signal(signal.SIGSTOP if paused else signal.SIGCONT)

    def stop(self, kill=False):
        self.pause(False)
        if kill:
            self.process.kill()
        if not self.error or kill:
            self.process.communicate()


class Table:
    """Rows by name, kept in FILE.json after each one, with FILE.md rendered from them. An interrupted run leaves a table
    that names what was not run; `resume` goes on with it, on the same commit, machine and options only."""

    def __init__(self, out, render, settings, resume=False):
        self.markdown = pathlib.Path(out) if out else None
        self.json = self.markdown.with_suffix(".json") if out else None
        self.render = render
        self.state = dict(
            header=dict(commit=commit(), cpu=cpu_name(), cpus=cpus(), **settings),
            dates=[datetime.date.today().isoformat()],
            seconds=0.0,
            rows={},
            not_run=[],
        )
        if resume:
            if not self.json or not self.json.exists():
                sys.exit("--resume needs --out=FILE.md with the FILE.json of the interrupted run")
            before = json.loads(self.json.read_text())
            different = [k for k, v in self.state["header"].items() if before["header"].get(k) != v]
            if different:
                sys.exit(f"--resume: that run had another {' and '.join(different)}; start a new one")
            before["dates"] += self.state["dates"]
            self.state = before
        self.start = time.perf_counter() - self.state["seconds"]

    def run(self, names, measure):
        """measure(name) → row, for every name that has none; prints progress; False when interrupted."""
        rows = self.state["rows"]
        left = [n for n in names if n not in rows]
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        begin = time.perf_counter()
        try:
            for done, name in enumerate(left):
                self.state["not_run"] = left[done:]
                print(f"[{len(names) - len(left) + done + 1}/{len(names)}] {name}", file=sys.stderr, flush=True)
                rows[name] = measure(name)
                spent = time.perf_counter() - begin
                rest = spent / (done + 1) * (len(left) - done - 1)
                text = f"  {summary(rows[name])}; {spent / 60:.1f} min, about {rest / 60:.1f} left"
                print(text, file=sys.stderr, flush=True)
                self.state["not_run"] = left[done + 1 :]
                self.save()
        except KeyboardInterrupt:
            print("interrupted; the table has what was run", file=sys.stderr)
            self.save()
            return False
        self.save()
        return True

    def save(self):
        self.state["seconds"] = time.perf_counter() - self.start
        if not self.json:
            return
        for path, text in (
            (self.json, json.dumps(self.state, indent=1) + "\n"),
            (self.markdown, self.render(self.state)),
        ):
            new = path.with_name(path.name + ".new")
            new.write_text(text, encoding="utf-8")
            new.replace(path)


def summary(row):
    """A row in a line, for the progress lines."""
    parts = [f"{side} {median(rows, 'run_ms'):.4g} ms" for side, rows in row.get("samples", {}).items() if rows]
    parts += [f"{side}: {reason}" for side, reason in row.get("problems", {}).items()]
    parts += [row[key] for key in ("reason", "text") if row.get(key)]
    return ", ".join(parts) + (" (unsteady)" if row.get("unsteady") else "")


def about(state):
    """The line under a table's title: when, of what and on what, in one run."""
    header, dates = state["header"], sorted(set(state["dates"]))
    sittings = f", in {len(state['dates'])} sittings" if len(state["dates"]) > 1 else ""
    return (
        f"{' to '.join(dict.fromkeys([dates[0], dates[-1]]))}, commit {header['commit']}, {header['cpu']}, "
        f"{header['cpus']} processors; one run of {state['seconds'] / 60:.0f} minutes{sittings}."
    )


def marks(row):
    """What a reader must know about a row: `~` spread above the bound in both sets, `!` others used the machine."""
    return ("~" if row.get("unsteady") else "") + ("!" if row.get("busy", 0) > BUSY else "")


def left_out(state):
    """Lines that name the rows without figures of a side, with the reasons, and those that were not run."""
    lines = []
    for name, row in state["rows"].items():
        reasons = [row["reason"]] if row.get("reason") else []
        reasons += [f"{side}: {reason}" for side, reason in row.get("problems", {}).items()]
        if reasons:
            lines.append(f"- {name}: {'; '.join(reasons)}")
    if state["not_run"]:
        lines.append(f"- Not run, for the run was stopped before: {', '.join(state['not_run'])}.")
    return ["", "Without figures:", "", *lines] if lines else []


def add_options(parser):
    parser.add_argument("--pairs", type=int, default=5, help="turns of each side")
    parser.add_argument("--row_seconds", type=float, default=40.0, help="no further turn of a row after this time")
    parser.add_argument("--out", help="FILE.md; the samples go to FILE.json beside it")
    parser.add_argument("--resume", action="store_true", help="go on with the interrupted run of --out")
