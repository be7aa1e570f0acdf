"""Runs the checks of tests/checks and Bazel's tests, and counts single test cases. Called by ./test."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.parse
import xml.etree.ElementTree as ElementTree

ROOT = pathlib.Path(__file__).resolve().parent.parent
BAZEL = str(ROOT / "third_party" / "bazel")
# What reads, checks and prints modules from outside, under the address and undefined-behaviour sanitizers in every run;
# with --sanitize, all tests but those tagged "unsanitized" (docs/testing.md).
SANITIZED_ALWAYS = [
    "//importers:io_test",
    "//hlo:parser_test",
    "//hlo:printer_test",
    "//importers/stablehlo:bytecode_test",
    "//hlo/verifier:verifier_test",
    "//tests/bad_modules/...",
    "//tests/fuzz:bytecode_mutants_test",
    "//tests/fuzz:text_mutants_test",
    "//tests/fuzz:stablehlo_mutants_test",
    "//tests/fuzz:text_fuzzer_test",
    "//tests/fuzz:proto_fuzzer_test",
]
THREADED_TARGETS = [
    "//tests/threads/...",
    "//backends/runtime:run_context_test",
    "//compiler:driver_test",
    "//jit/host/...",
    "//jit/launch/...",
    "-//jit/host:dynamic_loops_test",  # these two read graphs as text (docs/testing.md)
    "-//jit/host:session_test",
    "//service:client_test",
    "//service:disk_cache_test",
]


class Tally:
    """Counts of test cases, with a line for each that failed or was skipped."""

    def __init__(self):
        self.passed = 0
        self.failures = []
        self.skips = {}

    def fail(self, what):
        self.failures.append(what)

    def skip(self, what, reason):
        self.skips.setdefault(reason, []).append(what)

    def add_case(self, target, case):
        name = f"{target} {case.get('classname', '')}.{case.get('name', '')}"
        skipped = case.find("skipped")
        if case.find("failure") is not None or case.find("error") is not None:
            self.fail(name)
        elif skipped is not None or case.get("result") == "skipped":
            # GoogleTest's message opens with "file:line" on a line of its own.
            message = (skipped.get("message") or skipped.text or "") if skipped is not None else ""
            lines = [line for line in message.strip().splitlines() if line.strip()]
            self.skip(name, lines[-1].strip() if lines else "no reason given")
        elif case.get("status") != "notrun":
            self.passed += 1

    def close(self):
        print()
        for reason, names in sorted(self.skips.items()):
            print(f"SKIPPED: {reason} ({len(names)}): {', '.join(names[:4])}{', …' if len(names) > 4 else ''}")
        for name in self.failures:
            print(f"FAILED: {name}")
        skipped = sum(len(names) for names in self.skips.values())
        print(f"{self.passed} passed, {len(self.failures)} failed, {skipped} skipped")
        return 1 if self.failures or not self.passed else 0


def run_checks(tally):
    """Each check is a script that prints what is wrong and exits with 1, or one line "SKIPPED: reason" and exits with 0."""
    for check in sorted((ROOT / "tests" / "checks").glob("check_*.py")):
        started = time.time()
        done = subprocess.run(
            [sys.executable, check], cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        name = f"tests/checks/{check.name}"
        output = (done.stdout + done.stderr).strip()
        if done.returncode:
            tally.fail(name)
            print(f"{name}: failed\n{output}", flush=True)
        elif output.startswith("SKIPPED: "):
            tally.skip(name, output.splitlines()[0][len("SKIPPED: ") :])
        else:
            tally.passed += 1
            print(f"{name}: passed ({time.time() - started:.1f} s)", flush=True)


def local_path(uri):
    return pathlib.Path(urllib.parse.unquote(urllib.parse.urlparse(uri).path))


def count_target(tally, target, files, how_built):
    """Counts the cases of one test target from the test.xml files of its shards."""
    counted = 0
    for xml in files.get("test.xml", []):
        try:
            suites = ElementTree.parse(xml).getroot()
        except (OSError, ElementTree.ParseError):
            continue
        cases = list(suites.iter("testcase"))
        # A test that writes no XML of its own gets one case from Bazel, named after the target.
        plain = len(cases) == 1 and cases[0].get("name", "").lstrip("/") == target.lstrip("/").replace(":", "/")
        log = xml.with_name("test.log")
        if plain and cases[0].find("error") is None and cases[0].find("failure") is None and log.exists():
            skips = [line for line in log.read_text(errors="replace").splitlines() if line.startswith("SKIPPED: ")]
            if skips:
                tally.skip(target + how_built, skips[0][len("SKIPPED: ") :])
                counted += 1
                continue
        for case in cases:
            tally.add_case(target + how_built, case)
            counted += 1
    return counted


def count_bazel(tally, events, config):
    """Counts what the build event stream tells of every test target; gives the number of targets with results."""
    how_built = f" (--config={config})" if config else ""
    files, status, labels = {}, {}, set()
    with open(events, encoding="utf-8") as stream:
        for line in stream:
            try:
                event = json.loads(line)
            except json.JSONDecodeError:
                continue
            ident = event.get("id", {})
            if "targetConfigured" in ident and "configured" in event:
                if event["configured"].get("targetKind", "").endswith("_test rule"):
                    labels.add(ident["targetConfigured"]["label"])
                else:
                    status.setdefault(ident["targetConfigured"]["label"], None)
            elif "targetCompleted" in ident:
                if not event.get("completed", {}).get("success"):
                    status[ident["targetCompleted"]["label"]] = "does not build"
            elif "testResult" in ident and "testResult" in event:
                for output in event["testResult"].get("testActionOutput", []):
                    path = local_path(output.get("uri", ""))
                    by_name = files.setdefault(ident["testResult"]["label"], {})
                    if path not in by_name.setdefault(output["name"], []):
                        by_name[output["name"]].append(path)
            elif "testSummary" in ident and "testSummary" in event:
                status[ident["testSummary"]["label"]] = event["testSummary"].get("overallStatus", "NO_STATUS")
    for target in sorted(labels | set(status)):
        how = status.get(target)
        if how == "does not build":
            tally.fail(f"{target}{how_built} does not build")
        elif target in labels:
            failed_before = len(tally.failures)
            counted = count_target(tally, target, files.get(target, {}), how_built)
            if how != "PASSED" and len(tally.failures) == failed_before:
                tally.fail(f"{target}{how_built} {how or 'NO_STATUS'}")
            elif how == "PASSED" and not counted:
                tally.passed += 1
    return len(labels)


def run_bazel(tally, targets, config=""):
    """Builds and runs the tests among `targets`, with the options of one of .bazelrc's configurations."""
    failed_before = len(tally.failures)
    name = f"bazel test --config={config}" if config else "bazel test"
    with tempfile.TemporaryDirectory() as scratch:
        events = os.path.join(scratch, "events.json")
        command = [BAZEL, "test", "--stamp", "--keep_going", f"--build_event_json_file={events}"]
        if config:
            command.append(f"--config={config}")
        code = subprocess.run(command + ["--"] + targets, cwd=ROOT, stdin=subprocess.DEVNULL).returncode
        seen = count_bazel(tally, events, config) if os.path.exists(events) else 0
        if code and len(tally.failures) == failed_before:
            tally.fail(f"{name} ended with status {code}")
        elif not seen:
            tally.fail(f"{name} ran no test")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sanitize", type=int, default=0)
    parser.add_argument("targets", nargs="*")
    args = parser.parse_args()
    sys.stdout.reconfigure(encoding="utf-8", errors="replace")
    os.environ["XC_PYTHON"] = sys.executable
    peers = ROOT / ".venv-peers" / "bin" / "python"
    os.environ["XC_PEERS_PYTHON"] = str(peers) if (ROOT / ".venv-peers" / "requirements.installed").exists() else ""
    tally = Tally()
    if not args.targets and not args.sanitize:
        run_checks(tally)
    if not args.sanitize:
        run_bazel(tally, args.targets or ["//..."])
        if not args.targets:
            run_bazel(tally, SANITIZED_ALWAYS, "sanitize")
    else:
        run_bazel(tally, args.targets or ["//..."], "sanitize")
        if not args.targets:
            run_bazel(tally, THREADED_TARGETS, "tsan")
    if os.environ.get("CI"):
        subprocess.run([BAZEL, "shutdown"], cwd=ROOT, stdin=subprocess.DEVNULL, check=False)
    return tally.close()


if __name__ == "__main__":
    sys.exit(main())
