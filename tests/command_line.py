"""The command-line contract: exit status 0, 1 or 2, messages on stderr, the line of JSON, bundles that replay.

usage: command_line.py XLA SMALL.hlo
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

WRONG_PAIR = """HloModule wrong
ENTRY e {
  a = f32[2] constant({1, 2})
  b = f32[2] constant({1, 3})
  ROOT t = (f32[2], f32[2]) tuple(a, b)
}
"""
DYNAMIC = """HloModule dynamic
ENTRY main {
  x = s32[3,4] iota(), iota_dimension=1
  n = s32[] constant(2)
  y = s32[3,<=4] set-dimension-size(x, n), dimensions={1}
  b = bf16[4] constant({1, 2, 3, 4})
  z = bf16[<=4] set-dimension-size(b, n), dimensions={0}
  ROOT r = (s32[3,<=4], bf16[<=4]) tuple(y, z)
}
"""

HALF = """HloModule half, symbols={n=2..}
ENTRY e {
  x = f32[$n] parameter(0)
  y = f32[$(n/2)] parameter(1)
  ROOT z = (f32[$n], f32[$(n/2)]) tuple(x, y)
}
"""
TRANSFERS = """HloModule transfers
ENTRY e {
  t = token[] after-all()
  i = (f32[2], token[]) infeed(t)
  x = f32[2] get-tuple-element(i), index=0
  u = token[] get-tuple-element(i), index=1
  n = f32[2] negate(x)
  o = token[] outfeed(n, u), outfeed_shape=f32[2]
  j = (f32[2], token[]) infeed(o)
  y = f32[2] get-tuple-element(j), index=0
  v = token[] get-tuple-element(j), index=1
  m = f32[2] negate(y)
  p = token[] outfeed(m, v), outfeed_shape=f32[2]
  ROOT r = f32[2] add(x, y)
}
"""
ELIDED = "HloModule m\nENTRY e { ROOT a = s32[3]{0} constant({...}) }\n"
LARGE = "HloModule m\nENTRY e { p = f32[64,1024,1024] parameter(0) ROOT a = f32[64,1024,1024] add(p, p) }\n"
DEEP = "HloModule m\nENTRY e { p = ((s32[3])) parameter(0) ROOT a = (s32[3]) get-tuple-element(p), index=0 }\n"
EVALUATED = """HloModule m
most { p = f32[] parameter(0) q = f32[] parameter(1) ROOT m = f32[] maximum(p, q) }
spread { p = f32[] parameter(0) q = f32[] parameter(1) b = f32[2] broadcast(p), dimensions={}
  i = f32[2] iota(), iota_dimension=0 s = f32[2] multiply(b, i)
  ROOT m = f32[] reduce(s, q), dimensions={0}, to_apply=most }
ENTRY e { x = f32[8] parameter(0) z = f32[] constant(0)
  ROOT r = f32[] reduce(x, z), dimensions={0}, to_apply=spread }
"""
UNKNOWN = """HloModule unknown, entry_computation_layout={(f32[?,2]{1,0}, f32[2]{0})->(f32[?,2]{1,0}, f32[2]{0})}
ENTRY e {
  x = f32[?,2]{1,0} parameter(0)
  y = f32[2]{0} parameter(1)
  rows = s32[] get-dimension-size(x), dimensions={0}
  count = f32[] convert(rows)
  counts = f32[2]{0} broadcast(count), dimensions={}
  mean = f32[2]{0} divide(y, counts)
  both = f32[?,2]{1,0} concatenate(x, x), dimensions={0}
  flat = f32[?]{0} reshape(both)
  tanh = f32[?]{0} tanh(flat)
  back = f32[?,2]{1,0} reshape(tanh)
  half = f32[?,2]{1,0} concatenate(x, back), dimensions={0}
  ROOT t = (f32[?,2]{1,0}, f32[2]{0}) tuple(half, mean)
}
"""
SYMBOLIC = """HloModule symbolic, symbols={b=2..64, n}
max { p = f32[] parameter(0) q = f32[] parameter(1) ROOT s = f32[] maximum(p, q) }
add { p = f32[] parameter(0) q = f32[] parameter(1) ROOT s = f32[] add(p, q) }
ENTRY e {
  x = f32[$b,$n] parameter(0)
  low = f32[] constant(-inf)
  zero = f32[] constant(0)
  top = f32[$b] reduce(x, low), dimensions={1}, to_apply=max
  tops = f32[$b,$n] broadcast(top), dimensions={0}
  less = f32[$b,$n] subtract(x, tops)
  power = f32[$b,$n] exponential(less)
  sum = f32[$b] reduce(power, zero), dimensions={1}, to_apply=add
  sums = f32[$b,$n] broadcast(sum), dimensions={0}
  ROOT r = f32[$b,$n] divide(power, sums)
}
"""
STABLEHLO = """module @m {
  func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
    %0 = stablehlo.add %a, %a : tensor<2xf32> loc("twice")
    %c = stablehlo.constant dense<2.0> : tensor<2xf32>
    %1 = stablehlo.multiply %a, %c : tensor<2xf32>
    stablehlo.custom_call @check.expect_eq(%0, %1) {has_side_effect = true} : (tensor<2xf32>, tensor<2xf32>) -> ()
    return %0 : tensor<2xf32>
  }
}
"""
OPEN = """func.func @main(%a: tensor<?x2xf32>, %b: tensor<2xf32>) -> tensor<?x2xf32> {
  %n = stablehlo.get_dimension_size %a, dim = 0 : (tensor<?x2xf32>) -> tensor<i32>
  %1 = stablehlo.reshape %n : (tensor<i32>) -> tensor<1xi32>
  %2 = stablehlo.constant dense<2> : tensor<1xi32>
  %3 = stablehlo.concatenate %1, %2, dim = 0 : (tensor<1xi32>, tensor<1xi32>) -> tensor<2xi32>
  %4 = stablehlo.dynamic_broadcast_in_dim %b, %3, dims = [1] : (tensor<2xf32>, tensor<2xi32>) -> tensor<?x2xf32>
  %5 = stablehlo.add %a, %4 : tensor<?x2xf32>
  return %5 : tensor<?x2xf32>
}
"""
GRAPH = """node { name: "x" op: "Placeholder" attr { key: "dtype" value { type: DT_FLOAT } }
  attr { key: "shape" value { shape { dim { size: 2 } } } } }
node { name: "y" op: "Neg" input: "x" attr { key: "T" value { type: DT_FLOAT } } }
"""


class Checker:
    def __init__(self, xla):
        self.xla = xla
        self.failed = 0

    def run(self, *args):
        return subprocess.run([self.xla, *map(str, args)], capture_output=True, text=True, stdin=subprocess.DEVNULL)

    def expect(self, what, ok, detail=""):
        self.failed += not ok
        print(f"{'ok' if ok else 'WRONG'}: {what}{'' if ok else ': ' + str(detail)}")

    def refused(self, message, *args):
        """The command must end with status 2 and this message."""
        done = self.run(*args)
        self.expect(" ".join(map(str, args)), done.returncode == 2 and message in done.stderr, done)


def write_files(small):
    """What the commands read, in the current folder."""
    texts = {
        "wrong.hlo": WRONG_PAIR,
        "elided.hlo": ELIDED,
        "large.hlo": LARGE,
        "deep.hlo": DEEP,
        "integer.hlo": "HloModule m\nENTRY e { p = s32[1,1] parameter(0) ROOT a = s32[1,1] negate(p) }\n",
        "wide.hlo": "HloModule m\nENTRY e { p = s32[1,2] parameter(0) ROOT a = s32[1,2] negate(p) }\n",
        "evaluated.hlo": EVALUATED,
        "twice.mlir": STABLEHLO,
        "half.hlo": HALF,
        "open.mlir": OPEN,
        "symbolic.hlo": SYMBOLIC,
        "unknown.hlo": UNKNOWN,
        "misspelt.hlo": "HloModule m\nENTRY e { a = f32[2] parameter(0) ROOT b = f32[2] addd(a, a) }\n",
        "unfit.hlo": "HloModule m\n"
        "ENTRY e { a = f32[2] parameter(0) b = f32[3] parameter(1) ROOT c = f32[2] add(a, b) }\n",
        "graph.pbtxt": GRAPH,
    }
    texts["bad.mlir"] = STABLEHLO.replace("stablehlo.add", "stablehlo.plus")
    for name, text in texts.items():
        pathlib.Path(name).write_text(text)
    pathlib.Path("manifest.tsv").write_text("program\tcheck\tpairs\nwrong\teq\t1\n")
    pathlib.Path("stablehlo.tsv").write_text("program\tcheck\tpairs\ntwice\teq\t1\n")
    pathlib.Path("noise.pb").write_bytes(bytes(range(256)) * 20)
    pathlib.Path("truncated.hlo").write_text(pathlib.Path(small).read_text()[:-40])
    os.mkdir("empty")


def plans(check, small):
    """What is evaluated, what is planned, what runs for a platform."""
    done = check.run("replay", "evaluated.hlo")
    check.expect(
        "replay names what is evaluated",
        done.returncode == 0
        and "evaluated, without code: reduce r: in spread, b: it is not a scalar" in done.stderr
        and "1 evaluated" in done.stdout,
        done,
    )
    done = check.run("opt", small, "--plan")
    check.expect("opt --plan", done.returncode == 0 and "kernel 0, " in done.stdout, done)
    done = check.run("opt", "--list", "--platform=interpreter")
    check.expect("opt --list of a platform", done.returncode == 0 and "Not run for interpreter" in done.stdout, done)


def refusals(check, small):
    """Mistakes, each with the message that it must get."""
    check.expect("-o has one dash in the help", "\n  -o\n" in check.run("view", "--help").stdout)
    check.refused("unknown command 'bogus'", "bogus")
    check.refused("takes one FILE", "replay")
    check.refused("cannot read nofile.hlo", "replay", "nofile.hlo")
    check.refused("truncated.hlo: line", "replay", "truncated.hlo")
    check.refused("noise.pb", "replay", "noise.pb")
    check.refused("is not a bundle", "replay", "empty")
    check.refused("unknown flag '--bogus'", "replay", small, "--bogus")
    check.refused("--runs takes a whole number, not 'x'", "replay", small, "--runs=x")
    check.refused("unknown platform 'cuda'; there are cpu, interpreter and gpu", "replay", small, "--platform=cuda")
    check.refused("needs a file that ends with .svg", "replay", small, "--roofline=picture.png")
    check.refused("`xla opt --list` names all passes", "opt", small, "--until=bogus")
    check.refused("`xla opt --list` names all passes", "replay", small, "--disable=bogus")
    check.refused("xla.load run what `xla compile` wrote", "replay", "noise.pb")
    check.refused("--threads must be at least 0", "replay", small, "--threads=-1")
    check.refused("--seconds must be at least 0", "replay", small, "--seconds=nan")
    check.refused("--bisect needs --against", "replay", small, "--bisect")
    check.refused("gives no results", "replay", small, "--compile_only", "--output_dir=none")
    check.refused("`all` or `none`", "replay", small, "--passes=bogus")
    check.refused("for platforms that compile", "replay", small, "--platform=interpreter", "--excess_precision")
    check.refused("cannot be run", "reduce", small, "--command=./nofile")
    check.refused("no program to run", "check", "manifest.tsv", "--only=nothing")
    check.refused("or --list", "opt", "--list", small)
    check.refused("libcuda.so.1", "replay", small, "--platform=gpu")
    check.refused("unknown CPU", "replay", small, "--cpu=bogus")
    check.refused("has no elements", "replay", "elided.hlo", "--nofill_elided")
    check.refused("the limit is 100 MiB", "replay", "large.hlo", "--memory_limit_mb=100")
    check.refused("the limit is 2", "replay", small, "--instruction_limit=2")
    check.refused("it may be 1 to 500", "replay", small, "--nesting_limit=0")
    check.refused("nested more than 1 deep", "replay", "deep.hlo", "--nesting_limit=1")
    check.refused("there is no pass", "opt", small, "--passes=bogus")
    check.refused("bad.mlir: line 3, column 10: func.func: expected an operation", "opt", "bad.mlir")
    check.refused("must be", "check", "manifest.tsv", "--stride=0")
    check.refused(".html, .svg or .dot", "view", small, "-o", "picture.xyz")
    check.refused("nofile", "graph", "nofile")
    check.refused("noise.pb", "graph", "noise.pb")


def compiled_files(check, small):
    """Programs compiled ahead of time, whole and damaged, given to commands that take modules or graphs."""
    check.expect("compile", check.run("compile", small, "-o", "whole.xcp", "--cpu=x86-64-v2").returncode == 0)
    whole = pathlib.Path("whole.xcp").read_bytes()
    size = len(whole)
    damaged = bytearray(whole)
    damaged[70] ^= 1
    for name, data, message in [
        ("whole", whole, "has compiled, for x86-64-v2, and no module or graph: xc_load_program"),
        ("cut", whole[:-5], f"cannot be read: it should have {size} bytes, and has {size - 5}"),
        ("short", whole[:20], "cannot be read: it ends after 20 bytes, within its header"),
        ("damaged", bytes(damaged), "cannot be read: its description, bytes 64 to "),
    ]:
        pathlib.Path(f"{name}.xcp").write_bytes(data)
        for command in (["replay"], ["opt"], ["graph"], ["compile", "-o", "x.xcp"], ["view", "-o", "x.html"]):
            check.refused(f"{name}.xcp: this is a ", command[0], f"{name}.xcp", *command[1:])
            check.refused(message, command[0], f"{name}.xcp", *command[1:])


def names(check, small):
    """What files are called in messages and reports."""
    for command in (["replay"], ["opt"], ["reduce", "--against=interpreter"], ["view", "-o", "x.html"]):
        check.refused("error: unfit.hlo: ", command[0], "unfit.hlo", *command[1:])
    check.refused("unknown opcode 'addd'; did you mean `add`?", "opt", "misspelt.hlo")
    with open("graph.pbtxt", encoding="utf-8") as graph:
        done = subprocess.run(
            [check.xla, "graph", "-", "--json"], stdin=graph, capture_output=True, text=True, check=False
        )
    check.expect("graph -", done.returncode == 0 and json.loads(done.stdout)["graph"] == "stdin", done)


def mistaken_shapes(check):
    """Shapes and arrays that do not fit."""
    check.refused("open.mlir: line 1, column 11: argument 0 of @main is f32[?,2], which leaves", "replay", "open.mlir")
    check.refused("its shape is given as f32[3]", "replay", "open.mlir", "--shapes=[3],[2]")
    check.refused("argument 1 of the module is f32[2]", "opt", "open.mlir", "--shapes=[3,2],[3]")
    check.refused("takes 2 arguments, but 1 shapes are given", "view", "open.mlir", "-o", "p.svg", "--shapes=[3,2]")
    check.refused(
        "expected shapes of arguments such as f32[8,4],[8], found '3x2'", "reduce", "open.mlir", "--shapes=3x2"
    )
    check.refused("argument 0 of the module is s32", "replay", "wide.hlo", "--shapes=[3,4]")
    check.refused("no bundle does", "replay", "empty", "--shapes=[3,2]")
    check.refused("floats/0.npy", "replay", "open.mlir", "--inputs=floats")

    os.mkdir("floats")
    np.save("floats/0.npy", np.array([[1.5]]))
    check.refused("whose numbers s32 cannot hold", "replay", "integer.hlo", "--inputs=floats")
    check.refused("should be s32[1,2]", "replay", "wide.hlo", "--inputs=floats")


def checks(check):
    """`xla check`, and StableHLO."""
    done = check.run("check", "manifest.tsv")
    check.expect("check of a wrong program", done.returncode == 1 and "0 passed, 1 failed" in done.stdout, done)

    done = check.run("check", "stablehlo.tsv")
    check.expect("check of StableHLO", done.returncode == 0 and "1 passed, 0 failed" in done.stdout, done)
    done = check.run("opt", "twice.mlir", "--passes=none")
    check.expect("opt of StableHLO", done.returncode == 0 and 'op_name="twice"' in done.stdout, done)


def open_sizes(check):
    """Sizes that a module leaves open, from flags and inputs."""
    done = check.run("opt", "open.mlir", "--passes=none", "--shapes=f32[3,2], [2]")
    check.expect("opt of open sizes", done.returncode == 0 and "f32[3,2] add" in done.stdout, done)
    os.mkdir("rows")
    np.save("rows/0.npy", np.array([[1, 2], [3, 4], [5, 6]], np.float32))
    np.save("rows/1.npy", np.array([10, 20], np.float32))
    done = check.run("replay", "open.mlir", "--inputs=rows", "--output_dir=rows_out", "--against=interpreter")
    rows = np.load("rows_out/0.npy").tolist() if done.returncode == 0 else done
    check.expect("sizes of the inputs", rows == [[11, 22], [13, 24], [15, 26]], rows)
    check.refused("should be f32[1,2]", "replay", "open.mlir", "--inputs=rows", "--shapes=[1,2],[2]")


def symbols(check):
    """Sizes that have names."""
    bindings = "--shapes=b=2,n=5; b=3,n=64; b=60,n=700; b=9,n=33"
    done = check.run("replay", "symbolic.hlo", bindings, "--against=interpreter")
    check.expect(
        "one compilation for four sizes",
        done.returncode == 0
        and done.stdout.count("all 1 output agree with interpreter") == 4
        and "1 compilation for several sizes served 4 of them, 0 got code of their own" in done.stdout,
        done,
    )
    done = check.run("replay", "symbolic.hlo", bindings, "--against=interpreter", "--json")
    found = json.loads(done.stdout) if done.returncode == 0 else {}
    check.expect(
        "replay --json of four sizes",
        found.get("served") == 4
        and [run["shapes"] for run in found["runs"]] == ["b=2,n=5", "b=3,n=64", "b=60,n=700", "b=9,n=33"]
        and all(run["general"] and run["agree"] for run in found["runs"]),
        done,
    )
    done = check.run("replay", "open.mlir", "--shapes=[3,2],[2]; [70,2],[2]; [5,2],[2]", "--against=interpreter")
    check.expect(
        "one compilation for three sizes of StableHLO",
        done.returncode == 0
        and done.stdout.count("all 1 output agree with interpreter") == 3
        and "1 compilation for several sizes served 3 of them, 0 got code of their own" in done.stdout,
        done,
    )
    lists = "--shapes=[3,2],[2]; [70,2],[2]; [5,2],[2]"
    done = check.run("replay", "unknown.hlo", lists, "--against=interpreter")
    check.expect(
        "one compilation for three sizes of HLO",
        done.returncode == 0
        and done.stdout.count("all 2 outputs agree with interpreter") == 3
        and "1 compilation for several sizes served 3 of them, 0 got code of their own" in done.stdout,
        done,
    )
    done = check.run("opt", "unknown.hlo", "--passes=none", "--shapes=[3,2],[2]")
    check.expect("opt of unknown sizes", done.returncode == 0 and "f32[9,2]{1,0} concatenate" in done.stdout, done)
    check.refused("has an unknown size (?); give the arguments' shapes", "replay", "unknown.hlo")
    for shapes, sizes, own in (
        (lists, 3, 3),
        ("--shapes=[n=2..40,2],[2]", 39, 0),
        ("--shapes=[7,2],[2]; [n=8..64:8,2],[2]", 9, 1),
    ):
        done = check.run("compile", "unknown.hlo", "-o", "unknown.xcp", shapes, "--json")
        found = json.loads(done.stdout) if done.returncode == 0 else {}
        check.expect(f"compile {shapes}", (found.get("sizes"), found.get("own_code")) == (sizes, own), done)
    done = check.run("compile", "symbolic.hlo", "-o", "symbolic.xcp", "--shapes=b=2..9,n=5..7", "--json")
    check.expect("compile ranges of symbols", done.returncode == 0 and json.loads(done.stdout)["sizes"] == 24, done)
    check.refused(
        "has no end, or too many values", "compile", "unknown.hlo", "-o", "x.xcp", "--shapes=[1..999999,2],[2]"
    )
    check.refused("--pieces has a number for each FILE", "compile", "half.hlo", "-o", "x.xcp", "--pieces=1,2,4")
    done = check.run("compile", "half.hlo", "-o", "x.xcp")
    check.expect("a size that is combined gets an end", "the program is for" in done.stdout, done)
    check.refused("has to begin at 1024 at most", "compile", "unknown.hlo", "-o", "x.xcp", "--shapes=[9999..,2],[2]")
    done = check.run("compile", "open.mlir", "-o", "open.xcp", "--shapes=[b=1..,2],[2]", "--json")
    check.expect(
        "compile a size without an end", done.returncode == 0 and json.loads(done.stdout)["own_code"] == 0, done
    )
    check.refused("symbol b=2..64 cannot be 65", "compile", "symbolic.hlo", "-o", "x.xcp", "--shapes=b=60..65,n=5")
    check.refused("--shapes is for one FILE", "compile", "unknown.hlo", "symbolic.hlo", "-o", "x.xcp", lists)
    check.refused("have other ranks than", "replay", "open.mlir", "--shapes=[3,2],[2]; [3],[2]")
    check.refused("symbol b=2..64 cannot be 65", "replay", "symbolic.hlo", "--shapes=b=65,n=5")
    check.refused("has the symbols b=2..64 n: give values", "opt", "symbolic.hlo")
    done = check.run("opt", "symbolic.hlo", "--passes=none", "--shapes=[3,7]")
    check.expect("opt of a binding", done.returncode == 0 and "f32[3,7]" in done.stdout, done)


def bundles(check, small):
    """A bundle replays what was dumped."""
    done = check.run("replay", small, "--json", "--runs=3", "--output_dir=out", "--dump_to=bundle", "--dump_values")
    keys = {"module", "parse_s", "compile_s", "run_ms", "median_ms", "outputs", "rss_mb", "temp_bytes", "evaluated"}
    check.expect("replay --json", done.returncode == 0 and set(json.loads(done.stdout)) == keys, done)
    count = json.loads(done.stdout)["outputs"]
    done = check.run("replay", "bundle", "--output_dir=again", "--against=interpreter")
    check.expect("a bundle replays", done.returncode == 0, done)
    equal = all(np.array_equal(np.load(f"out/{i}.npy"), np.load(f"again/{i}.npy")) for i in range(count))
    check.expect("the bundle's outputs are the same", equal)
    check.expect("the bundle has stages", len(list(pathlib.Path("bundle").glob("[0-9]*.hlo"))) > 1)


def transfers(check):
    """Arrays of dynamic sizes, infeed and outfeed."""
    pathlib.Path("dynamic.hlo").write_text(DYNAMIC)
    done = check.run("replay", "dynamic.hlo", "--output_dir=valid")
    valid = [np.load(f"valid/{i}.npy").tolist() for i in range(2)] if done.returncode == 0 else done
    check.expect("arrays of run-time sizes", valid == [[[0, 1]] * 3, [1, 2]], valid)

    pathlib.Path("transfers.hlo").write_text(TRANSFERS)
    os.mkdir("fed")
    np.save("fed/0.npy", np.array([1, 2], np.float32))
    np.save("fed/1.npy", np.array([3, 4], np.float32))
    check.refused("runs once", "replay", "transfers.hlo", "--infeed=fed", "--runs=2")
    check.refused("the queue is empty", "replay", "transfers.hlo")
    check.refused("the infeed has no", "replay", "transfers.hlo", "--infeed=empty")
    done = check.run("replay", "transfers.hlo", "--infeed=fed", "--outfeed_dir=drained", "--against=interpreter")
    check.expect("infeed and outfeed", done.returncode == 0, done)
    drained = [np.load(f"drained/{i}.npy").tolist() for i in range(len(os.listdir("drained")))]
    check.expect("what came out", drained == [[-1, -2], [-3, -4]], drained)


def pictures(check, small):
    """Modules as text and as pictures."""
    done = check.run("opt", small, "--passes=none")
    pathlib.Path("printed.hlo").write_text(done.stdout)
    again = check.run("opt", "printed.hlo", "--passes=none")
    check.expect("opt --passes=none prints what it reads", done.returncode == 0 and again.stdout == done.stdout, done)
    for suffix, start in (("html", "<!doctype html>"), ("svg", "<svg"), ("dot", "digraph")):
        done = check.run("view", small, "-o", f"picture.{suffix}")
        ok = done.returncode == 0 and pathlib.Path(f"picture.{suffix}").read_text().startswith(start)
        check.expect(f"view -o .{suffix}", ok, done)


def main():
    xla, small = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    check = Checker(xla)
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        write_files(small)
        plans(check, small)
        refusals(check, small)
        compiled_files(check, small)
        names(check, small)
        mistaken_shapes(check)
        checks(check)
        open_sizes(check)
        symbols(check)
        bundles(check, small)
        transfers(check)
        pictures(check, small)
    return 1 if check.failed else 0


if __name__ == "__main__":
    sys.exit(main())
