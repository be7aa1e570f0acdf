"""ResNet-50, MobileNetV2 (batch 1, 224×224) and a four-layer encoder with frozen weights, f32, in one run: as an HLO module
(`xla replay`), on the embedded host (`xla graph`), in TensorFlow with the plugin and without, in XLA (jaxlib), ONNX Runtime
and OpenVINO.

    third_party/install --peers --engines && third_party/bazel build //tools:xla //jit/tensorflow:xc_tensorflow.so
    python3 benchmarks/engines.py [MODEL…] [--out=benchmarks/results_engines.md] [--resume] [--ways=LIST]

README.md in this folder says what is measured and how.
"""

import argparse
import array
import ast
import os
import pathlib
import shutil
import struct
import sys
import tempfile

import measure

ROOT = measure.ROOT
HERE = ROOT / "benchmarks"
ENGINES = ROOT / ".venv-engines" / "bin" / "python"
MODELS = ["resnet50", "mobilenet_v2", "encoder"]
# Name → how the table calls it. Ours first.
WAYS = {
    "hlo": "HLO",
    "host": "embedded host",
    "plugin": "TensorFlow with the plugin",
    "tensorflow": "TensorFlow",
    "xla": "XLA (jaxlib)",
    "onnxruntime": "ONNX Runtime",
    "openvino": "OpenVINO",
}
PEERS = ["openvino", "onnxruntime", "tensorflow"]
TOLERANCE = 1e-4  # of the largest expected value


def read_floats(path):
    """The elements of a .npy file of f32 in row-major order."""
    data = pathlib.Path(path).read_bytes()
    wide = data[6] >= 2
    (length,) = struct.unpack_from("<I" if wide else "<H", data, 8)
    begin = (12 if wide else 10) + length
    header = ast.literal_eval(data[begin - length : begin].decode("latin1"))
    if header["descr"] != "<f4" or header["fortran_order"]:
        raise measure.Failure(f"{path}: not f32 in row-major order")
    values = array.array("f")
    values.frombytes(data[begin:])
    return values


def error_of(got, want):
    """The largest difference over the largest expected value; None if a size differs or a value is no number."""
    if len(got) != len(want) or any(x != x for x in got):
        return None
    return max(abs(x - y) for x, y in zip(got, want)) / max(abs(y) for y in want)


def checked(answer, error):
    answer["error"] = error
    if error is None or error > TOLERANCE:
        raise measure.Failure(f"the result differs: {error} of the largest value, at most {TOLERANCE} is right")
    return answer


def run_hlo(folder, options):
    with tempfile.TemporaryDirectory() as out:
        command = [
            options.xla,
            "replay",
            folder / "model.pb",
            "--json",
            "--runs=20000",
            f"--inputs={folder / 'inputs'}",
        ]
        command += [f"--seconds={options.seconds}", f"--output_dir={out}"]
        answer = measure.child(command, options.timeout, measure.ONE_HEAP)
        error = error_of(read_floats(pathlib.Path(out) / "0.npy"), read_floats(folder / "expected.npy"))
    answer["ready_s"] = answer["parse_s"] + answer["compile_s"]
    return checked(answer, error)


def run_host(folder, options):
    """`xla graph` counts runs instead of seconds: how many is known from a few."""
    command = [options.xla, "graph", folder, "--json"]
    if folder not in options.host_runs:
        few = measure.child([*command, "--runs=4"], options.timeout)["cases"][0]["best_ms"]
        options.host_runs[folder] = max(5, int(options.seconds * 1e3 / few))
    answer = measure.child([*command, f"--runs={options.host_runs[folder]}"], options.timeout)
    case = answer["cases"][0]
    if not case["ok"]:
        raise measure.Failure(case["problem"])
    answer.update(run_ms=case["best_ms"], ready_s=(answer["load_ms"] + case["first_ms"]) / 1e3)
    return checked(answer, case["max_error"] / max(map(abs, read_floats(folder / "expected.npy"))))


def run_xla(folder, options):
    with tempfile.TemporaryDirectory() as out:
        command = [measure.PEERS, HERE / "run_peer.py", folder / "model.pb", f"--inputs={folder / 'inputs'}"]
        command += [f"--seconds={options.seconds}", f"--output_dir={out}"]
        answer = measure.child(command, options.timeout, measure.ONE_HEAP)
        error = error_of(read_floats(pathlib.Path(out) / "0.npy"), read_floats(folder / "expected.npy"))
    answer["ready_s"] = answer["compile_s"] + answer["first_ms"] / 1e3
    return checked(answer, error)


def run_engine(way, folder, options):
    python = measure.PEERS if way in ("tensorflow", "plugin") else ENGINES
    command = [python, HERE / "engine_run.py", way, folder, f"--seconds={options.seconds}"]
    answer = measure.child([*command, f"--plugin={options.plugin}"], options.timeout)
    return checked(answer, answer["error"])


def build(model, folder, ways, options):
    """Writes the model's forms that the ways need."""
    forms = ["hlo"] + ["graph"] * bool({"host", "plugin", "tensorflow"} & ways)
    forms += ["onnx"] * bool({"onnxruntime", "openvino"} & ways)
    for form in forms:
        python = ENGINES if form == "onnx" else measure.PEERS
        measure.child([python, HERE / "engine_models.py", form, model, folder], options.timeout)


def measure_model(model, options, scratch):
    folder = scratch / model
    try:
        build(model, folder, set(options.ways), options)
    except measure.Failure as failure:
        return dict(reason=f"cannot be built: {failure}")
    plain = dict(hlo=run_hlo, host=run_host, xla=run_xla)
    sides = {}
    for way in options.ways:
        if way in plain:
            sides[way] = lambda run=plain[way]: run(folder, options)
        else:
            sides[way] = lambda way=way: run_engine(way, folder, options)
    row = measure.take_turns(sides, options.pairs, options.row_seconds)
    shutil.rmtree(folder)
    return row


def render(state):
    rows = {k: r for k, r in state["rows"].items() if "samples" in r}
    peers = [p for p in PEERS if p in state["header"]["ways"]]
    head = [
        "model",
        "engine",
        "run ms",
        "± %",
        *(f"/ {WAYS[p]}" for p in peers),
        "ready s",
        "peak MB",
        "error",
        "turns",
    ]
    lines = ["# Beside inference engines", ""]
    lines += ["Made by `benchmarks/engines.py`: " + measure.about(state)]
    lines += [
        f"Engines: {state['header']['engines']}. f32, batch 1, weights frozen; every result was compared with one"
    ]
    lines += ["in double precision. [README.md](README.md) says what the columns mean; below 1 is better.", ""]
    lines += ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    ratios = {}
    for model, row in rows.items():
        for way, samples in row["samples"].items():
            if not samples:
                continue
            number, median = measure.number, measure.median
            over = {p: measure.median_ratio(samples, row["samples"].get(p, []), "run_ms") for p in peers if p != way}
            for peer, value in over.items():
                if value is not None:
                    ratios.setdefault(way, {}).setdefault(peer, []).append(value)
            cells = [
                model + (" " + measure.marks(row) if measure.marks(row) else ""),
                WAYS[way],
                number(median(samples, "run_ms"), ".3f"),
                number(measure.spread([s["run_ms"] for s in samples]), ".0f", 100),
                *(number(over.get(p)) for p in peers),
                number(median(samples, "ready_s")),
                number(median(samples, "rss_mb"), ".0f"),
                number(median(samples, "error"), ".0e"),
                str(len(samples)),
            ]
            lines.append("| " + " | ".join(cells) + " |")
    if ratios:
        lines += ["", "Geometric means over the models:", ""]
        lines += ["| engine | models | " + " | ".join(f"/ {WAYS[p]}" for p in peers) + " |"]
        lines += ["|---" * (len(peers) + 2) + "|"]
        for way, by_peer in ratios.items():
            means = [measure.number(measure.geometric_mean(by_peer.get(p, []))) for p in peers]
            lines.append(f"| {WAYS[way]} | {max(map(len, by_peer.values()))} | " + " | ".join(means) + " |")
    for mark, text in (("~", "spread above 15 % in two sets of turns"), ("!", "others used the machine")):
        found = [name for name, row in rows.items() if mark in measure.marks(row)]
        if found:
            lines += ["", f"`{mark}` {text}: {', '.join(found)}."]
    return "\n".join(lines + measure.left_out(state)) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help=", ".join(MODELS))
    parser.add_argument("--ways", default=",".join(WAYS))
    parser.add_argument("--seconds", type=float, default=1.0, help="of timed runs in a process")
    parser.add_argument("--timeout", type=float, default=600.0, help="seconds for one process")
    parser.add_argument("--xla", default=ROOT / "bazel-bin/tools/xla", type=pathlib.Path, help="the tool")
    parser.add_argument("--plugin", default=ROOT / "bazel-bin/jit/tensorflow/xc_tensorflow.so", type=pathlib.Path)
    measure.add_options(parser)
    parser.set_defaults(row_seconds=600.0)
    options = parser.parse_args()
    options.ways = options.ways.split(",")
    options.host_runs = {}
    unknown = [w for w in options.ways if w not in WAYS] + [m for m in options.models if m not in MODELS]
    if unknown:
        sys.exit(f"unknown: {', '.join(unknown)}; ways: {', '.join(WAYS)}; models: {', '.join(MODELS)}")
    needed = [(measure.PEERS, "third_party/install --peers")]
    if {"hlo", "host"} & set(options.ways):
        needed.append((options.xla, "third_party/bazel build //tools:xla"))
    if "plugin" in options.ways:
        needed.append((options.plugin, "third_party/bazel build //jit/tensorflow:xc_tensorflow.so"))
    if {"onnxruntime", "openvino"} & set(options.ways):
        needed.append((ENGINES, "third_party/install --engines"))
    for path, how in needed:
        if not os.path.exists(path):
            sys.exit(f"{path} does not exist: {how}")
    versions = [measure.version(measure.PEERS, p) for p in ("tensorflow_cpu", "jaxlib")]
    versions += [measure.version(ENGINES, p) for p in ("onnxruntime", "openvino") if p in options.ways]
    settings = dict(
        ways=options.ways,
        engines=", ".join(versions),
        seconds=options.seconds,
        pairs=options.pairs,
        row_seconds=options.row_seconds,
    )
    table = measure.Table(options.out, render, settings, options.resume)
    with tempfile.TemporaryDirectory() as scratch:
        finished = table.run(
            options.models or MODELS, lambda model: measure_model(model, options, pathlib.Path(scratch))
        )
    if not options.out:
        print(render(table.state))
    return 0 if finished else 130


if __name__ == "__main__":
    sys.exit(main())
