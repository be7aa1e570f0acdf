"""The sample data's graphs in TensorFlow with the plugin (plugin_checks.py has the usage)."""

import json
import os
import pathlib

import numpy as np

from plugin_checks import check, launched, run_checks, tf


@check
def graphs_of_the_data():
    """Every graph of the sample data gives its stored results."""
    data = os.environ.get("XC_DATA")
    if not data:
        print("SKIPPED: no sample data (XC_DATA)")
        return
    for folder in sorted((pathlib.Path(data) / "graphs").iterdir()):
        meta = json.loads((folder / "meta.json").read_text())
        graph = tf.compat.v1.GraphDef.FromString((folder / "graph.pb").read_bytes())
        pruned = tf.compat.v1.wrap_function(lambda: tf.import_graph_def(graph, name=""), []).prune(
            [i["tensor"] for i in meta["inputs"]], [o["tensor"] for o in meta["outputs"]]
        )
        specs = [tf.TensorSpec(i["shape"], i["dtype"]) for i in meta["inputs"]]
        function = tf.function(lambda *a: pruned(*a), input_signature=specs)
        for case in range(len(meta["cases"])):
            stored = folder / f"case{case}"
            args = [tf.constant(np.load(stored / f"input_{i}.npy")) for i in range(len(meta["inputs"]))]
            with launched():
                out = function(*args)
            for i, o in enumerate(out if isinstance(out, (list, tuple)) else [out]):
                want = np.load(stored / f"expected_{i}.npy")
                np.testing.assert_allclose(np.asarray(o), want, rtol=1e-3, atol=1e-4, err_msg=f"{folder.name} {case}")
        print(f"  {folder.name}: {len(meta['cases'])} cases")


if __name__ == "__main__":
    run_checks()
