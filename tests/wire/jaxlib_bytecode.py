"""MLIR bytecode beside assembly text: jaxlib makes bytecode of every StableHLO program of the sample data, in each
version of the format, portable artifacts for old and new consumers, and files of jax.export. Each should read as the
module that the text reads as which jaxlib prints of the same program.

    jaxlib_bytecode.py SAME_MODULES [STRIDE]    STRIDE: every n-th of the programs (default 1)
"""

import glob
import io
import os
import subprocess
import sys
import tempfile

import jax
import jax.numpy as jnp
import numpy as np
from jax import export
from jax._src.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

VERSIONS = 7  # of the format
CONSUMERS = ("1.0.0", "1.9.0")
# Programs of the sample data, and those with operations of CHLO that no portable artifact has, whoever reads it.
PROGRAMS, WITHOUT_ARTIFACT = 1741, 83
PAIRS = 8482  # of all programs and of what is exported below


class Plan:
    def __init__(self, folder):
        self.folder, self.lines, self.count, self.without_artifact = folder, [], 0, 0

    def file(self, content):
        self.count += 1
        path = os.path.join(self.folder, f"{self.count}")
        with open(path, "wb") as file:
            file.write(content.encode() if isinstance(content, str) else content)
        return path

    def same(self, text, others, label):
        path = self.file(text)
        for other in others:
            self.lines.append((path, self.file(other), label))

    def refused(self, content, words, label):
        path = self.file(content)
        self.lines.append((path, path, label, words))


def printed(module):
    return module.operation.get_asm(enable_debug_info=True)


def bytecode(module, version):
    out = io.BytesIO()
    module.operation.write_bytecode(out, desired_version=version)
    return out.getvalue()


def has_artifact(module, consumer):
    try:
        return bool(stablehlo.serialize_portable_artifact(module, consumer))
    except Exception:  # pylint: disable=broad-except  # what MLIR raises
        return False


def add_program(plan, number, text, label):
    module = ir.Module.parse(text)
    plan.same(printed(module), [bytecode(module, v) for v in (VERSIONS - 1, number % VERSIONS)], label)
    consumers = (stablehlo.get_minimum_version(), stablehlo.get_current_version(), CONSUMERS[number % len(CONSUMERS)])
    if "chlo." in text and not has_artifact(module, consumers[1]):
        plan.without_artifact += 1
        return
    for consumer in consumers:
        artifact = stablehlo.serialize_portable_artifact(module, consumer)
        # What such an artifact holds is not always the program as it was: operations of CHLO are made of others.
        again = stablehlo.deserialize_portable_artifact(ir.Context.current, artifact)
        plan.same(printed(again), [artifact], f"{label} for {consumer}")


def loss(w, x):
    for layer in w:
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    return jnp.mean(x**2)


def scan(x):
    return jax.lax.scan(lambda c, y: (c + jnp.sin(y), c * 2), x[0], x)


def conv(x, k):
    return jax.lax.conv_general_dilated(x, k, (2, 1), "SAME", rhs_dilation=(1, 2), precision="highest")


EXPORTED = [
    (lambda x: x + 1, (np.float32(1),)),
    (jax.grad(loss), ([{"w": np.ones((4, 4), "f"), "b": np.ones(4, "f")}] * 3, np.ones((2, 4), "f"))),
    (scan, (np.ones((5, 3), "f"),)),
    (conv, (np.ones((1, 3, 8, 8), "f"), np.ones((4, 3, 3, 3), "f"))),
    (lambda x, i: (jnp.sort(x)[i], jnp.argmax(x), jnp.cumsum(x)), (np.ones(9, "f"), np.arange(3))),
    (lambda x: jnp.linalg.cholesky(x) + jnp.linalg.inv(x), (np.eye(3, dtype="f"),)),
    (lambda k: jax.random.normal(jax.random.wrap_key_data(k), (3,)), (np.zeros(2, np.uint32),)),
    (lambda x: jax.lax.cond(x.sum() > 0, jnp.sin, jax.scipy.special.erfinv, x), (np.ones(3, "f"),)),
    (lambda x: jax.lax.top_k(x.astype(jnp.bfloat16), 2), (np.ones((3, 4), "f"),)),
    (lambda x, unused: jnp.array([True, False, True]) & (x > 2), (np.ones(3, "f"), np.float32(0))),
    (lambda x: jnp.fft.rfft(x).at[1].add(1j), (np.ones(8, "f"),)),
]


def add_exported(plan):
    for number, (function, arguments) in enumerate(EXPORTED):
        exported = export.export(jax.jit(function))(*arguments)
        text = exported.mlir_module()
        plan.same(text, [exported.serialize(), exported.mlir_module_serialized], f"exported program {number}")
    function = jax.jit(lambda x: x * 2)
    # For several platforms, of which the program asks.
    asks = jax.jit(lambda x: jax.lax.platform_dependent(x, cpu=jnp.sin, default=jnp.cos))
    both = export.export(asks, platforms=("cuda", "cpu"))(np.float32(1))
    text = both.mlir_module()
    index = '%arg0: tensor<i32> {jax.global_constant = "_platform_index"} loc(unknown), '
    assert index in text
    head, body = text.replace(index, "").split("{\n    ", 1)
    text = head + "{\n    %arg0 = stablehlo.constant dense<1> : tensor<i32> loc(unknown)\n    " + body
    plan.same(text, [both.serialize()], "several platforms")
    plan.refused(export.export(function, platforms=("cuda",))(1.0).serialize(), "it is for cuda", "platform")
    symbolic = jax.ShapeDtypeStruct(export.symbolic_shape("b, 3"), jnp.float32)
    plan.refused(export.export(function)(symbolic).serialize(), "which leaves sizes open", "shape polymorphism")
    mesh = jax.sharding.AbstractMesh((2,), ("x",))
    sharding = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec("x"))
    sharded = jax.ShapeDtypeStruct((4,), jnp.float32, sharding=sharding)
    plan.refused(export.export(function)(sharded).serialize(), "it is for 2 devices", "devices")


def main():
    tool, stride = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 1
    data = os.environ.get("XC_DATA", "")
    if not data:
        print("SKIPPED: no sample data")
        return 0
    files = sorted(glob.glob(os.path.join(data, "stablehlo", "*.mlir")))[::stride]
    with tempfile.TemporaryDirectory() as folder, mlir.make_ir_context():
        plan = Plan(folder)
        for number, file in enumerate(files):
            with open(file) as f:
                add_program(plan, number, f.read(), os.path.basename(file))
        add_exported(plan)
        path = os.path.join(folder, "plan")
        with open(path, "w") as out:
            for first, second, _, *words in plan.lines:
                out.write("\t".join([first, second, *words]) + "\n")
        result = subprocess.run([tool, path], stdout=subprocess.PIPE, text=True, check=False)
        labels = {second: label for _, second, label, *_ in plan.lines}
        lines = result.stdout.splitlines()
        for line in lines:
            second = line.split(" and ", 1)[-1].split(": ", 1)[0]
            print(f"{labels.get(second, '')}: {line}")
        print(
            f"{len(files)} programs, {plan.without_artifact} without an artifact, {len(plan.lines)} pairs compared, "
            f"{len(lines)} failed"
        )
        whole = (PROGRAMS, WITHOUT_ARTIFACT, PAIRS)
        if stride == 1 and (len(files), plan.without_artifact, len(plan.lines)) != whole:
            print("expected {} programs, {} without an artifact, {} pairs".format(*whole))
            return 1
        return 0 if result.returncode == 0 and not lines else 1


sys.exit(main())
