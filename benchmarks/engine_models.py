"""The models of engines.py with random, frozen weights, written once and built for each engine: as an HLO module (JAX
lowers it), as a GraphDef (TensorFlow) and as an ONNX model. Inputs come with them, and the result in double precision.

usage: engine_models.py hlo|graph|onnx MODEL FOLDER     (hlo and graph: Python of .venv-peers; onnx: of .venv-engines)
writes FOLDER/model.pb, or FOLDER/graph.pb, meta.json and case0, or FOLDER/model.onnx. `hlo` comes first: it writes the
input x.npy and expected.npy, too, which the others read.
"""

import json
import pathlib
import sys

import numpy as np


class Weights:
    """Arrays from one sequence of random numbers, so that all builders get the same."""

    def __init__(self):
        self.rng = np.random.default_rng(22)

    def kernel(self, height, width, inputs, outputs):
        return self.normal((height, width, inputs, outputs), np.sqrt(2 / (height * width * inputs)))

    def matrix(self, rows, columns):
        return self.normal((rows, columns), 1 / np.sqrt(rows))

    def normal(self, shape, scale):
        return (self.rng.standard_normal(shape, np.float32) * scale).astype(np.float32)

    def near(self, center, count):
        return (center + self.rng.uniform(-0.1, 0.1, count)).astype(np.float32)

    def norm(self, count, scale=1.0):
        """Of a frozen batch normalization: scale, offset, mean, variance."""
        return [self.near(scale, count), self.near(0, count), self.near(0, count), self.near(1, count)]


def normed_conv(ops, w, x, size, inputs, outputs, stride=1, scale=1.0, depthwise=False):
    kernel = w.kernel(size, size, 1 if depthwise else inputs, outputs)
    x = ops.conv(x, kernel, stride, (size - 1) // 2, inputs if depthwise else 1)
    return ops.batch_norm(x, *w.norm(outputs, scale), 1e-5)


def resnet50(ops, x, w):
    """He et al. 2015, with the stride in the 3×3 convolution of a block."""
    x = ops.relu(normed_conv(ops, w, x, 7, 3, 64, 2))
    x, channels = ops.max_pool(x, 3, 2, 1), 64
    for blocks, width, first_stride in ((3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2)):
        for block in range(blocks):
            stride = first_stride if block == 0 else 1
            y = ops.relu(normed_conv(ops, w, x, 1, channels, width))
            y = ops.relu(normed_conv(ops, w, y, 3, width, width, stride))
            y = normed_conv(ops, w, y, 1, width, 4 * width, scale=0.3)
            if block == 0:
                x = normed_conv(ops, w, x, 1, channels, 4 * width, stride)
            x, channels = ops.relu(ops.add(x, y)), 4 * width
    return ops.dense(ops.mean_of_image(x), w.matrix(2048, 1000), w.near(0, 1000))


def mobilenet_v2(ops, x, w):
    """Sandler et al. 2018, width 1."""
    x = ops.relu6(normed_conv(ops, w, x, 3, 3, 32, 2))
    channels = 32
    for expand, outputs, blocks, first_stride in (
        (1, 16, 1, 1),
        (6, 24, 2, 2),
        (6, 32, 3, 2),
        (6, 64, 4, 2),
        (6, 96, 3, 1),
        (6, 160, 3, 2),
        (6, 320, 1, 1),
    ):
        for block in range(blocks):
            stride, wide = first_stride if block == 0 else 1, expand * channels
            y = ops.relu6(normed_conv(ops, w, x, 1, channels, wide)) if expand > 1 else x
            y = ops.relu6(normed_conv(ops, w, y, 3, wide, wide, stride, depthwise=True))
            y = normed_conv(ops, w, y, 1, wide, outputs)
            x = ops.add(x, y) if stride == 1 and channels == outputs else y
            channels = outputs
    x = ops.relu6(normed_conv(ops, w, x, 1, 320, 1280))
    return ops.dense(ops.mean_of_image(x), w.matrix(1280, 1000), w.near(0, 1000))


def encoder(ops, x, w, layers=4, width=768, heads=12, length=128):
    """Four layers of a BERT encoder, from embeddings on."""

    def dense(x, inputs, outputs):
        return ops.dense(x, w.matrix(inputs, outputs), w.near(0, outputs))

    def split(x):
        return ops.transpose(ops.reshape(x, (1, length, heads, width // heads)), (0, 2, 1, 3))

    for _ in range(layers):
        q, k, v = (split(dense(x, width, width)) for _ in range(3))
        scores = ops.scale(ops.matmul(q, ops.transpose(k, (0, 1, 3, 2))), (width // heads) ** -0.5)
        mixed = ops.transpose(ops.matmul(ops.softmax(scores), v), (0, 2, 1, 3))
        mixed = dense(ops.reshape(mixed, (1, length, width)), width, width)
        x = ops.layer_norm(ops.add(x, mixed), w.near(1, width), w.near(0, width), 1e-5)
        y = dense(ops.gelu(dense(x, width, 4 * width)), 4 * width, width)
        x = ops.layer_norm(ops.add(x, y), w.near(1, width), w.near(0, width), 1e-5)
    return x


MODELS = {
    "resnet50": (resnet50, (1, 224, 224, 3)),
    "mobilenet_v2": (mobilenet_v2, (1, 224, 224, 3)),
    "encoder": (encoder, (1, 128, 768)),
}


class JaxOps:
    def __init__(self, dtype):
        import jax
        import jax.numpy as jnp

        self.jax, self.np, self.dtype = jax, jnp, dtype

    def constant(self, value):
        return self.np.asarray(value, self.dtype)

    def conv(self, x, kernel, stride, padding, groups):
        return self.jax.lax.conv_general_dilated(
            x,
            self.constant(kernel),
            (stride, stride),
            [(padding, padding)] * 2,
            dimension_numbers=("NHWC", "HWIO", "NHWC"),
            feature_group_count=groups,
        )

    def batch_norm(self, x, scale, offset, mean, variance, epsilon):
        scale, offset, mean, variance = map(self.constant, (scale, offset, mean, variance))
        return (x - mean) * (scale * self.jax.lax.rsqrt(variance + self.dtype(epsilon))) + offset

    def relu(self, x):
        return self.np.maximum(x, self.dtype(0))

    def relu6(self, x):
        return self.np.clip(x, self.dtype(0), self.dtype(6))

    def max_pool(self, x, size, stride, padding):
        low = self.dtype(-np.inf)
        pads = [(0, 0), (padding, padding), (padding, padding), (0, 0)]
        return self.jax.lax.reduce_window(x, low, self.jax.lax.max, (1, size, size, 1), (1, stride, stride, 1), pads)

    def mean_of_image(self, x):
        return x.mean((1, 2))

    def dense(self, x, matrix, bias):
        return x @ self.constant(matrix) + self.constant(bias)

    def add(self, x, y):
        return x + y

    def scale(self, x, factor):
        return x * self.dtype(factor)

    def matmul(self, x, y):
        return x @ y

    def reshape(self, x, dims):
        return x.reshape(dims)

    def transpose(self, x, order):
        return x.transpose(order)

    def softmax(self, x):
        return self.jax.nn.softmax(x, -1)

    def gelu(self, x):
        return self.jax.nn.gelu(x, approximate=False)

    def layer_norm(self, x, scale, offset, epsilon):
        mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
        normed = (x - mean) * self.jax.lax.rsqrt(variance + self.dtype(epsilon))
        return normed * self.constant(scale) + self.constant(offset)


class TensorFlowOps:
    def __init__(self):
        import tensorflow as tf

        self.tf = tf

    def conv(self, x, kernel, stride, padding, groups):
        pads = [[0, 0], [padding, padding], [padding, padding], [0, 0]]
        if groups == 1:
            return self.tf.nn.conv2d(x, kernel, stride, pads)
        kernel = kernel.transpose(0, 1, 3, 2)  # height, width, channels, 1
        return self.tf.nn.depthwise_conv2d(x, kernel, [1, stride, stride, 1], pads)

    def batch_norm(self, x, scale, offset, mean, variance, epsilon):
        return self.tf.compat.v1.nn.fused_batch_norm(
            x, scale, offset, mean, variance, epsilon=epsilon, is_training=False
        )[0]

    def relu(self, x):
        return self.tf.nn.relu(x)

    def relu6(self, x):
        return self.tf.nn.relu6(x)

    def max_pool(self, x, size, stride, padding):
        # What is pooled is not negative: zeros around it change nothing.
        x = self.tf.pad(x, [[0, 0], [padding, padding], [padding, padding], [0, 0]])
        return self.tf.nn.max_pool2d(x, size, stride, "VALID")

    def mean_of_image(self, x):
        return self.tf.reduce_mean(x, (1, 2))

    def dense(self, x, matrix, bias):
        if len(x.shape) == 2:
            return self.tf.nn.bias_add(x @ self.tf.constant(matrix), bias)
        # As Keras does: one product of matrices.
        flat = self.tf.reshape(x, (-1, matrix.shape[0])) @ self.tf.constant(matrix)
        return self.tf.nn.bias_add(self.tf.reshape(flat, (*x.shape[:-1], matrix.shape[1])), bias)

    def add(self, x, y):
        return x + y

    def scale(self, x, factor):
        return x * np.float32(factor)

    def matmul(self, x, y):
        return self.tf.matmul(x, y)

    def reshape(self, x, dims):
        return self.tf.reshape(x, dims)

    def transpose(self, x, order):
        return self.tf.transpose(x, order)

    def softmax(self, x):
        return self.tf.nn.softmax(x)

    def gelu(self, x):
        return self.tf.nn.gelu(x, approximate=False)

    def layer_norm(self, x, scale, offset, epsilon):
        mean, variance = self.tf.nn.moments(x, -1, keepdims=True)
        return self.tf.nn.batch_normalization(x, mean, variance, offset, scale, epsilon)


class OnnxOps:
    """Values are names of tensors; images have their channels first, as ONNX has them."""

    def __init__(self):
        from onnx import helper, numpy_helper

        self.helper, self.numpy_helper = helper, numpy_helper
        self.nodes, self.initializers = [], []

    def constant(self, value):
        name = f"w{len(self.initializers)}"
        self.initializers.append(self.numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def node(self, kind, *operands, **attributes):
        name = f"t{len(self.nodes)}"
        self.nodes.append(self.helper.make_node(kind, list(operands), [name], name=f"n{len(self.nodes)}", **attributes))
        return name

    def conv(self, x, kernel, stride, padding, groups):
        kernel = self.constant(kernel.transpose(3, 2, 0, 1))
        return self.node("Conv", x, kernel, strides=[stride] * 2, pads=[padding] * 4, group=groups)

    def batch_norm(self, x, scale, offset, mean, variance, epsilon):
        parts = map(self.constant, (scale, offset, mean, variance))
        return self.node("BatchNormalization", x, *parts, epsilon=epsilon)

    def relu(self, x):
        return self.node("Relu", x)

    def relu6(self, x):
        return self.node("Clip", x, self.constant(np.float32(0)), self.constant(np.float32(6)))

    def max_pool(self, x, size, stride, padding):
        return self.node("MaxPool", x, kernel_shape=[size] * 2, strides=[stride] * 2, pads=[padding] * 4)

    def mean_of_image(self, x):
        return self.node("Flatten", self.node("GlobalAveragePool", x))

    def dense(self, x, matrix, bias):
        return self.node("Add", self.node("MatMul", x, self.constant(matrix)), self.constant(bias))

    def add(self, x, y):
        return self.node("Add", x, y)

    def scale(self, x, factor):
        return self.node("Mul", x, self.constant(np.float32(factor)))

    def matmul(self, x, y):
        return self.node("MatMul", x, y)

    def reshape(self, x, dims):
        return self.node("Reshape", x, self.constant(np.array(dims, np.int64)))

    def transpose(self, x, order):
        return self.node("Transpose", x, perm=list(order))

    def softmax(self, x):
        return self.node("Softmax", x, axis=-1)

    def gelu(self, x):
        return self.node("Gelu", x, approximate="none")

    def layer_norm(self, x, scale, offset, epsilon):
        return self.node("LayerNormalization", x, self.constant(scale), self.constant(offset), axis=-1, epsilon=epsilon)


def channels_first(x):
    """The input of a model of images as the ONNX model takes it."""
    return np.ascontiguousarray(x.transpose(0, 3, 1, 2)) if x.ndim == 4 else x


def build_hlo(model, shape, folder):
    import jax

    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_platforms", "cpu")
    # The weights belong into the module, not among its parameters.
    jax.config.update("jax_use_simplified_jaxpr_constants", False)
    x = np.random.default_rng(1).standard_normal(shape, np.float32)
    np.save(folder / "x.npy", x)
    exact = jax.jit(lambda x: model(JaxOps(np.float64), x, Weights()))(x.astype(np.float64))
    np.save(folder / "expected.npy", np.asarray(exact, np.float32))
    lowered = jax.jit(lambda x: model(JaxOps(np.float32), x, Weights())).lower(x)
    proto = lowered.compiler_ir("hlo").as_serialized_hlo_module_proto()
    (folder / "model.pb").write_bytes(proto)
    (folder / "inputs").mkdir(exist_ok=True)
    np.save(folder / "inputs" / "0.npy", x)


def build_graph(model, shape, folder):
    import tensorflow as tf

    with tf.Graph().as_default() as graph:
        x = tf.compat.v1.placeholder(tf.float32, shape, "x")
        tf.identity(model(TensorFlowOps(), x, Weights()), "y")
    (folder / "graph.pb").write_bytes(graph.as_graph_def().SerializeToString())
    meta = dict(
        name=folder.name,
        inputs=[dict(tensor="x:0", dtype="float32", shape=shape)],
        outputs=[dict(tensor="y:0", dtype="float32")],
        cases=[[shape]],
    )
    (folder / "meta.json").write_text(json.dumps(meta))
    (folder / "case0").mkdir(exist_ok=True)
    np.save(folder / "case0" / "input_0.npy", np.load(folder / "x.npy"))
    np.save(folder / "case0" / "expected_0.npy", np.load(folder / "expected.npy"))


def build_onnx(model, shape, folder):
    import onnx
    from onnx import helper

    ops = OnnxOps()
    result = model(ops, "x", Weights())
    x, expected = np.load(folder / "x.npy"), np.load(folder / "expected.npy")
    graph = helper.make_graph(
        ops.nodes,
        folder.name,
        [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, channels_first(x).shape)],
        [helper.make_tensor_value_info(result, onnx.TensorProto.FLOAT, expected.shape)],
        ops.initializers,
    )
    built = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=9)
    onnx.checker.check_model(built)
    onnx.save(built, folder / "model.onnx")


def main():
    form, name, folder = sys.argv[1:]
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    # tensorflow.py in this folder is not the package.
    sys.path = [p for p in sys.path if pathlib.Path(p or ".").resolve() != pathlib.Path(__file__).resolve().parent]
    model, shape = MODELS[name]
    {"hlo": build_hlo, "graph": build_graph, "onnx": build_onnx}[form](model, shape, folder)
    print(json.dumps(dict(built=form)))


if __name__ == "__main__":
    main()
