"""What jax.profiler collects of the plugin's programs: runs, and in them kernels by name with their source.

usage: traces.py PLUGIN.so
"""

import os
import pathlib
import sys
import tempfile

from named_checks import report


def collect(jax, work):
    """(plane, line, event, facts) of all events of a trace of work()."""
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder):
            work()
        (path,) = pathlib.Path(folder).rglob("*.xplane.pb")
        data = jax.profiler.ProfileData.from_serialized_xspace(path.read_bytes())
        return [
            (plane.name, line.name, event.name, dict(event.stats), event.start_ns, event.duration_ns)
            for plane in data.planes
            for line in plane.lines
            for event in line.events
        ]


def main():
    os.environ["PJRT_NAMES_AND_LIBRARY_PATHS"] = f"cpu:{os.path.abspath(sys.argv[1])}"
    import jax
    import jax.numpy as jnp

    @jax.jit
    def looked_at(x):
        return jnp.tanh(x) @ x + jnp.sin(x)

    x = jnp.ones((64, 64))
    jax.block_until_ready(looked_at(x))  # compiled before the trace begins
    events = collect(jax, lambda: jax.block_until_ready([looked_at(x) for _ in range(3)]))
    own = [e for e in events if e[0] == "/device:CUSTOM:xc"]
    runs = [e for e in own if e[2] == "jit_looked_at"]
    parts = [e for e in own if e[2] != "jit_looked_at"]
    checks = {
        "three runs": len(runs) == 3,
        "parts of each run": len(parts) >= 6,
        "parts with a source": any(os.path.basename(__file__) in str(e[3].get("source", "")) for e in parts),
        "parts with types": all("[" in str(e[3].get("shape", "")) for e in parts),
        "parts in runs": all(
            any(r[4] - 1e3 <= p[4] and p[4] + p[5] <= r[4] + r[5] + 1e3 for r in runs)
            for p in parts
            if p[1] == runs[0][1]
        ),
        "nothing of an earlier trace": all(e[0] != "/device:CUSTOM:xc" for e in collect(jax, lambda: None)),
    }
    return report(checks, own[:8])


if __name__ == "__main__":
    sys.exit(main())
