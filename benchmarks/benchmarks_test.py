"""What the tables rest on: turns and spreads, interrupted and resumed runs, inputs of the same bits on both sides, and a
comparison with XLA, if JAX is there, whose runs meet no page faults.

usage: benchmarks_test.py XLA
"""

import json
import math
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
XLA = os.path.abspath(sys.argv.pop(1)) if len(sys.argv) > 1 else "bazel-bin/tools/xla"

import changing_shapes
import compare
import engines
import inputs
import measure
import ml_dtypes
import numpy as np
import search
import search_modules

TYPES = dict(
    pred=np.bool_,
    s8=np.int8,
    u64=np.uint64,
    f16=np.float16,
    bf16=ml_dtypes.bfloat16,
    f32=np.float32,
    f64=np.float64,
    c64=np.complex64,
)
# Its result is larger than the largest block that malloc keeps when it is freed.
LARGE = """HloModule large, entry_computation_layout={(f32[10485760]{0})->f32[10485760]{0}}
ENTRY main {
  p = f32[10485760]{0} parameter(0)
  ROOT r = f32[10485760]{0} add(p, p)
}
"""
BROKEN = "HloModule broken\nENTRY main { ROOT r = f32[2] nothing() }\n"


def side(*times, busy=0.0):
    """A side that measures these times, one for each turn."""
    left = list(times)
    return lambda: dict(run_ms=left.pop(0), wall_s=1.0, own_s=1.0, others_s=busy * os.cpu_count())


def failing():
    raise measure.Failure("refused")


def plain(state):
    return f"{measure.about(state)}\n" + "\n".join(measure.left_out(state)) + "\n"


class ChangingShapes(unittest.TestCase):
    def test_calls_that_both_ways_have_made_are_compared(self):
        plain, other = [1.0] * 40, [0.5] * 20 + [2.0] * 10
        self.assertEqual(changing_shapes.cell_of("plain", plain, plain, 40), "40.00 s")
        self.assertEqual(changing_shapes.cell_of("plugin", other, plain, 40), "1.00 (1.50; 10; the first 30 calls)")
        self.assertEqual(changing_shapes.cell_of("plugin", plain, other, 40), "1.00 (0.67; 10; the first 30 calls)")
        self.assertEqual(changing_shapes.cell_of("plugin", [], plain, 40), "fails")


class Turns(unittest.TestCase):
    def test_steady_sides_are_measured_once(self):
        row = measure.take_turns({"a": side(1.0, 1.1, 1.05), "b": side(2.0, 2.0, 2.1)}, pairs=3)
        self.assertEqual([r["run_ms"] for r in row["samples"]["a"]], [1.0, 1.1, 1.05])
        self.assertFalse(row["again"] or row["unsteady"])
        self.assertEqual(measure.marks(row), "")

    def test_a_spread_row_is_run_again_and_the_steadier_set_counts(self):
        row = measure.take_turns({"a": side(1.0, 1.5, 1.0, 1.01), "b": side(2.0, 2.0, 2.0, 2.0)}, pairs=2)
        self.assertEqual([r["run_ms"] for r in row["samples"]["a"]], [1.0, 1.01])
        self.assertTrue(row["again"])
        self.assertFalse(row["unsteady"])

    def test_a_row_that_stays_spread_is_marked(self):
        row = measure.take_turns({"a": side(1.0, 1.5, 1.0, 1.4), "b": side(2.0, 2.0, 2.0, 2.0)}, pairs=2)
        self.assertEqual(measure.marks(row), "~")

    def test_a_row_beside_others_is_run_again_and_marked(self):
        row = measure.take_turns({"a": side(1.0, 1.0, 1.0, 1.0, busy=0.5), "b": side(2.0, 2.0, 2.0, 2.0)}, pairs=2)
        self.assertTrue(row["again"])
        self.assertEqual(measure.marks(row), "!")

    def test_a_side_that_fails_leaves_the_other_and_its_reason(self):
        row = measure.take_turns({"a": side(1.0, 1.0), "b": failing}, pairs=2)
        self.assertEqual(len(row["samples"]["a"]), 2)
        self.assertEqual(row["problems"], {"b": "refused"})

    def test_time_bounds_the_turns_but_one(self):
        row = measure.take_turns({"a": side(1.0, 1.0)}, pairs=2, seconds=0.0)
        self.assertEqual(len(row["samples"]["a"]), 1)

    def test_ratios_and_means(self):
        self.assertAlmostEqual(measure.geometric_mean([0.5, 2.0, None]), 1.0)
        pairs = [[dict(run_ms=v) for v in values] for values in ((1, 2, 9), (2, 2, 3))]
        self.assertEqual(measure.median_ratio(*pairs, "run_ms"), 1.0)
        self.assertIsNone(measure.spread([1.0]))


class Children(unittest.TestCase):
    def test_what_a_process_prints_and_uses(self):
        burn = (
            "import time, json\nwhile time.process_time() < 0.3: pass\nprint('noise'); print(json.dumps({'run_ms': 1}))"
        )
        answer = measure.child([sys.executable, "-c", burn])
        self.assertEqual(answer["run_ms"], 1)
        self.assertGreater(answer["own_s"], 0.25)
        self.assertGreater(answer["rss_mb"], 1)

    def test_the_error_and_not_the_marks_below_it(self):
        with self.assertRaisesRegex(measure.Failure, "^ValueError: no such thing$"):
            measure.child([sys.executable, "-c", "raise ValueError('no such thing\\n  ^^^')"])

    def test_a_process_that_does_not_end(self):
        with self.assertRaisesRegex(measure.Failure, "more than 1 s"):
            measure.child([sys.executable, "-c", "while True: pass"], timeout=0.6)


class Tables(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.out = pathlib.Path(folder.name) / "table.md"

    def interrupted(self, **settings):
        table = measure.Table(self.out, plain, settings)

        def row(name):
            if name == "b":
                signal.raise_signal(signal.SIGTERM)
            return dict(reason=f"reason of {name}")

        self.assertFalse(table.run(["a", "b", "c"], row))

    def test_a_run_that_is_stopped_names_what_is_left_and_goes_on(self):
        self.interrupted(seconds=1)
        self.assertIn("Not run, for the run was stopped before: b, c.", self.out.read_text())
        again, asked = measure.Table(self.out, plain, dict(seconds=1), resume=True), []
        self.assertTrue(again.run(["a", "b", "c"], lambda name: asked.append(name) or dict(reason="x")))
        self.assertEqual(asked, ["b", "c"])
        text = self.out.read_text()
        self.assertIn("in 2 sittings", text)
        self.assertIn("reason of a", text)
        self.assertNotIn("Not run", text)
        self.assertEqual(json.loads(self.out.with_suffix(".json").read_text())["not_run"], [])

    def test_other_options_or_another_commit_begin_anew(self):
        self.interrupted(seconds=1)
        with self.assertRaisesRegex(SystemExit, "another seconds"):
            measure.Table(self.out, plain, dict(seconds=2), resume=True)


class Inputs(unittest.TestCase):
    def test_the_bits_that_replay_makes(self):
        with tempfile.TemporaryDirectory() as folder:
            module, bundle = pathlib.Path(folder) / "m.hlo", pathlib.Path(folder) / "bundle"
            shapes = [(kind, dims) for kind in TYPES for dims in ((), (5,), (300, 70))]
            lines = [f"p{i} = {k}[{','.join(map(str, d))}] parameter({i})" for i, (k, d) in enumerate(shapes)]
            module.write_text("HloModule m\nENTRY e {\n" + "\n".join(lines) + "\nROOT r = f32[] constant(0)\n}\n")
            command = [XLA, "replay", module, f"--dump_to={bundle}", "--dump_values"]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            for i, (kind, dims) in enumerate(shapes):
                mine, given = inputs.make(i, dims, TYPES[kind]), np.load(bundle / "inputs" / f"{i}.npy")
                self.assertEqual(mine.ctypes.data % 64, 0)
                np.testing.assert_array_equal(mine.astype(given.dtype), given, f"{kind}{dims}")


class Memory(unittest.TestCase):
    def test_a_timed_run_holds_inputs_and_outputs_once(self):
        with tempfile.TemporaryDirectory() as folder:
            module = pathlib.Path(folder) / "large.hlo"
            module.write_text(LARGE)  # 40 MiB in and out
            command = [XLA, "replay", module, "--memory_limit_mb=140"]
            self.assertEqual(subprocess.run(command, stdout=subprocess.DEVNULL).returncode, 0)
            done = subprocess.run([*command, f"--output_dir={folder}/out"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 2)
            self.assertIn("needs 160 MiB; the limit is 140 MiB", done.stderr)


class Modules(unittest.TestCase):
    def test_bytes_of_inputs_and_outputs(self):
        with tempfile.TemporaryDirectory() as folder:
            module = pathlib.Path(folder) / "m.hlo"
            module.write_text(LARGE)
            self.assertEqual(compare.array_bytes(module), 2 * 4 * 10485760)
            module.write_text(
                "HloModule m\n\nENTRY e {\n  p = bf16[2,<=3]{1,0} parameter(0)\n  ROOT r = c64[] x(p)\n}\n"
            )
            self.assertEqual(compare.array_bytes(module), 12 + 8)

    def test_a_file_of_several_modules(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "two.hlo"
            file.write_text("// two\nHloModule a, x={}\nENTRY e {}\n\nHloModule b\nENTRY e {}\n")
            found = compare.modules_of(file, pathlib.Path(folder))
            self.assertEqual(list(found), ["two:a", "two:b"])
            self.assertEqual(found["two:b"].read_text(), "HloModule b\nENTRY e {}\n")

    def test_errors_of_engines(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "x.npy"
            np.save(path, np.array([[1, 2], [3, 4]], np.float32))
            values = engines.read_floats(path)
            self.assertEqual(list(values), [1, 2, 3, 4])
            self.assertEqual(engines.error_of([1, 2, 3, 5], values), 0.25)
            self.assertIsNone(engines.error_of([1, 2, 3, math.nan], values))
            self.assertIsNone(engines.error_of([1], values))
            np.save(path, np.zeros(2, np.float64))
            with self.assertRaises(measure.Failure):
                engines.read_floats(path)
        with self.assertRaisesRegex(measure.Failure, "differs"):
            engines.checked({}, 1e-3)


class Search(unittest.TestCase):
    def test_modules_are_read(self):
        names = sorted(search_modules.makers())
        self.assertGreater(len(names), 4000)
        chosen = names[::199] + [f"random/0/{i}" for i in range(20)]
        with tempfile.TemporaryDirectory() as folder:
            for number, name in enumerate(chosen):
                case = search_modules.case(name)
                self.assertEqual(case, search_modules.case(name))
                (pathlib.Path(folder) / f"{number}.hlo").write_text(case.text)
            for number, name in enumerate(chosen):
                done = subprocess.run(
                    [XLA, "opt", f"{folder}/{number}.hlo", "--passes=none"], capture_output=True, text=True
                )
                self.assertEqual(done.returncode, 0, f"{name}: {done.stderr}")

    def test_the_summary_groups_by_cause_the_worst_first(self):
        row = lambda name, ratio, **more: dict(
            name=name, ratio=ratio, ours_us=ratio, xla_us=1, ours_temp=2, xla_temp=1, difference=0.0, **more
        )
        rows = [
            row("dot/f32/square", 1.2),
            row("sort/f32/7/LT", 1.3, without={"fusion": 0.5, "licm": 0.8}),
            row("topk/f32/7_1", 2.5, evaluated=["topk t: no code"]),
            row("dot/f32/tiny", 1.6),
            row("dot/f32/batch", 0.5),
            dict(name="dot/s8/batch", error="refused"),
        ]
        state = dict(header=dict(commit="c", cpu="p", cpus_used="0", seed=1), rows={r["name"]: r for r in rows})
        text = search.summary(state)
        self.assertIn("6 modules, 5 with a ratio", text)
        self.assertIn("above 1.05: 4, above 1.5: 2.", text)
        groups = [line.split(" | ")[0].strip("| ") for line in text.splitlines() if line.startswith("| ")]
        expected = ["evaluated: topk", "dot/f32/tiny", "slower by the pass fusion", "dot/f32/square"]
        self.assertEqual(groups, ["cause", *expected])
        self.assertIn("| slower by the pass fusion | 1 | 1.30 |", text)
        self.assertIn("- dot/s8/batch: refused", text)


class Comparison(unittest.TestCase):
    def compare(self, folder, *names, **environment):
        out = pathlib.Path(folder) / "table.md"
        command = [sys.executable, HERE / "compare.py", *names, f"--out={out}", f"--xla={XLA}", "--pairs=1"]
        done = subprocess.run(command, capture_output=True, text=True, env=os.environ | environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(out.with_suffix(".json").read_text()), out.read_text()

    @unittest.skipUnless(
        os.environ.get("XC_PEERS_PYTHON"), "SKIPPED: JAX is not installed (third_party/install --peers)"
    )
    def test_beside_xla(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("large", LARGE), ("broken", BROKEN)):
                (pathlib.Path(folder) / f"{name}.hlo").write_text(text)
            state, text = self.compare(folder, f"{folder}/large.hlo", f"{folder}/broken.hlo")
            samples = state["rows"]["large"]["samples"]
            self.assertEqual({name: len(s) for name, s in samples.items()}, {"ours": 1, "XLA": 1})
            # Of 10,240 that new memory for the result would take in each run.
            self.assertLess(samples["XLA"][0]["faults"], 64)
            self.assertEqual(set(state["rows"]["broken"]["problems"]), {"ours", "XLA"})
            self.assertIn("- broken: ours: error: ", text)
            # Both take parameter and result once: 80 MiB, and no copies of them.
            for name in samples:
                base = state["rows"]["(trivial)"]["samples"][name][0]["rss_mb"]
                self.assertLess(samples[name][0]["rss_mb"] - base, 150, name)


if __name__ == "__main__":
    # A stop in the middle is part of what is tested: it must reach the main thread.
    assert threading.current_thread() is threading.main_thread()
    unittest.main(verbosity=1)
