"""Installs the wheel into a clean environment that has NumPy and ml_dtypes and nothing else, and uses it there.

usage: wheel_check.py XLA.whl
"""

import os
import pathlib
import subprocess
import sys
import sysconfig
import tempfile

PROGRAM = """
import sys
import numpy as np
import xla

assert "site-packages" in xla.__file__, xla.__file__

@xla.compile
def f(x, y):
    z = np.sin(x) @ y
    z[0] = 1
    return z.sum(axis=0), {"mean": z.mean()}

x, y = np.random.default_rng(0).random((2, 3)), np.random.default_rng(1).random((3, 4))
(total, rest), (want, want_rest) = f(x, y), f.__wrapped__(x, y)
np.testing.assert_allclose(total, want, rtol=1e-12)
np.testing.assert_allclose(rest["mean"], want_rest["mean"], rtol=1e-12)
assert "dot" in f.lower(x, y).hlo()
assert f.cache_info().signatures == 1
loaded = {name.split(".")[0] for name in sys.modules}
assert not loaded & {"hypothesis", "pytest", "nanobind", "scipy"}, loaded
mapped = {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}
ours = {path for path in mapped if any(name in path for name in ("xc", "absl", "protobuf", "LLVM", "lapack"))}
assert ours and all("site-packages/xla/" in path for path in ours), ours
print("used")
"""


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, **options)
    assert done.returncode == 0, f"{command}:\n{done.stdout}{done.stderr}"
    return done.stdout


def main():
    wheel = os.path.abspath(sys.argv[1])
    assert wheel.endswith("linux_x86_64.whl"), wheel
    environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
    with tempfile.TemporaryDirectory() as scratch:
        venv, required = pathlib.Path(scratch, "venv"), pathlib.Path(scratch, "required")
        run(sys.executable, "-m", "venv", "--without-pip", venv, env=environment)
        # What the wheel requires, as it is installed here.
        required.mkdir()
        for found in pathlib.Path(sysconfig.get_paths()["platlib"]).iterdir():
            if found.name.startswith(("numpy", "ml_dtypes")):
                (required / found.name).symlink_to(found)
        python = venv / "bin" / "python"
        packages = run(python, "-c", "import sysconfig; print(sysconfig.get_paths()['platlib'])", env=environment)
        pathlib.Path(packages.strip(), "required.pth").write_text(f"{required}\n")
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python]
        run(*pip, "install", "--no-index", "--no-cache-dir", wheel, env=environment)
        assert run(python, "-c", PROGRAM, cwd=scratch, env=environment) == "used\n"
        assert "replay" in run(python, "-m", "xla", "--help", cwd=scratch, env=environment)
        assert "replay" in run(venv / "bin" / "xla", "--help", cwd=scratch, env=environment)
    print("the wheel installs and runs")


if __name__ == "__main__":
    main()
