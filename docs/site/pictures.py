"""The screenshots of docs/pictures, from models of the sample data.

usage: docs/site/pictures.py TOOL FOLDER [PLUGIN.so PYTHON]   (XC_DATA names the sample data; needs Chromium; PYTHON: one
with TensorFlow)
"""

import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "pages"))

import browser  # noqa: E402  (after the path is set)

# Name of the picture -> (module, flags of `xla view`, what is done on the page).
MODULES = {
    "gemma3_1b": ("hlo/gemma3_1b_flax_call.hlo", ["--optimized"], "search"),
    "mobilenet_v2": ("hlo/mobilenet_v2.hlo", ["--optimized"], "open"),
    "resnet50": ("hlo/resnet50_keras_jax_f32.hlo", ["--optimized"], "flops"),
}


def on_page(page, what):
    # The sample modules name files of the machines that they were made on.
    page.evaluate("DATA.graphs.forEach(g => g.nodes.forEach(n => { delete n[DETAILS].source; }))")
    if what == "search":
        page.click("#search")
        page.type("attn")
        page.wait_for("document.getElementById('count').textContent.includes(' of ')")
    elif what == "open":
        page.evaluate("select(DATA.entry, DATA.graphs[DATA.entry].nodes.findIndex(n => n[OPCODE] === 'fusion'), true)")
        page.evaluate("(k => open.has(k) || toggle(k))(wayTo(view.selected.graph, view.selected.node).pop())")
        page.evaluate("center(placeOf(view.selected.graph, view.selected.node))")
    elif what == "flops":
        page.click("[data-toggle]")
        page.evaluate(
            "(m => { m.value = 'flops'; m.dispatchEvent(new Event('change')); })(document.getElementById('measure'))"
        )


# A program of TensorFlow whose report is shown: a small network, beside strings that stay with TensorFlow.
PROGRAM = """
import importlib.util, sys
import tensorflow as tf
spec = importlib.util.spec_from_file_location("xla_tf", sys.argv[2])
xla_tf = importlib.util.module_from_spec(spec)
spec.loader.exec_module(xla_tf)
xla_tf.load(sys.argv[1])
w = tf.Variable(tf.random.stateless_normal([256, 256], [1, 2]))
@tf.function(reduce_retracing=True)
def step(x, names):
    for _ in range(3):
        x = tf.nn.gelu(x @ w) + x
    return tf.nn.softmax(x), tf.strings.length(tf.strings.join([names, names]))
for size in (32, 64, 32, 64) * 20:
    step(tf.ones([size, 256]), tf.fill([size], "name"))
xla_tf.wait()
for size in (32, 64) * 20:
    step(tf.ones([size, 256]), tf.fill([size], "name"))
open(sys.argv[3], "w").write(xla_tf.report("html"))
"""


def tensorflow_report(page, plugin, python, folder, out):
    html = os.path.join(folder, "report.html")
    tf = str(ROOT / "python" / "xla" / "tf.py")
    environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="2", CUDA_VISIBLE_DEVICES="")
    subprocess.run([python, "-c", PROGRAM, os.path.abspath(plugin), tf, html], check=True, env=environment)
    page.open(html)
    page.screenshot(out / "tensorflow_report.png")


# A SavedModel: a convolutional network with a residual connection, and a signature that leaves the batch open.
SAVED_MODEL = """
import sys
import tensorflow as tf
class Net(tf.Module):
    def __init__(self):
        random = lambda shape: tf.Variable(tf.random.stateless_normal(shape, [1, 2]) * 0.1)
        self.first, self.second, self.last = random([3, 3, 3, 16]), random([3, 3, 16, 16]), random([16, 10])
    @tf.function(input_signature=[tf.TensorSpec([None, 32, 32, 3], name="image")])
    def classify(self, image):
        x = tf.nn.relu(tf.nn.conv2d(image, self.first, 2, "SAME"))
        x = x + tf.nn.relu(tf.nn.conv2d(x, self.second, 1, "SAME"))
        return {"scores": tf.nn.softmax(tf.reduce_mean(x, [1, 2]) @ self.last)}
net = Net()
tf.saved_model.save(net, sys.argv[1], signatures={"serving_default": net.classify})
"""


def saved_model(page, tool, python, folder, out):
    """Its optimized program, coloured by the times of a profile."""
    model, trace, html = (os.path.join(folder, name) for name in ("model", "trace.json", "model.html"))
    environment = dict(os.environ, TF_CPP_MIN_LOG_LEVEL="2", CUDA_VISIBLE_DEVICES="", XC_TF_ENABLED="0")
    subprocess.run([python, "-c", SAVED_MODEL, model], check=True, env=environment)
    shapes = "--shapes=[8,32,32,3]"
    subprocess.run([tool, "replay", model, shapes, f"--profile={trace}"], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([tool, "view", model, shapes, "--optimized", f"--profile={trace}", "-o", html], check=True)
    print(f"saved_model: {page.open(html):.2f} s, {os.path.getsize(html) / 1e6:.1f} MB")
    page.screenshot(out / "saved_model.png")


def main():
    tool, out = sys.argv[1], pathlib.Path(sys.argv[2])
    data = pathlib.Path(os.environ["XC_DATA"])
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, browser.Browser(1280, 760) as page:
        for name, (path, flags, what) in MODULES.items():
            html = os.path.join(folder, name + ".html")
            subprocess.run([tool, "view", str(data / path), "-o", html, *flags], check=True)
            print(f"{name}: {page.open(html):.2f} s, {os.path.getsize(html) / 1e6:.1f} MB")
            on_page(page, what)
            page.screenshot(out / f"{name}.png")
            if name == "mobilenet_v2":
                page.click("[data-tab=memory]")
                page.screenshot(out / "memory.png")
        graph = os.path.join(folder, "graph.html")
        subprocess.run(
            [tool, "graph", str(data / "graphs" / "mixed_host_ops"), f"--explain_html={graph}"],
            stdout=subprocess.DEVNULL,
        )
        if os.path.exists(graph):
            page.open(graph)
            page.screenshot(out / "host_graph.png")
        if len(sys.argv) > 4:
            saved_model(page, tool, sys.argv[4], folder, out)
            tensorflow_report(page, *sys.argv[3:5], folder, out)
        if page.errors:
            sys.exit("\n".join(page.errors))


if __name__ == "__main__":
    main()
