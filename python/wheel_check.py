"""What is in the wheel; then it is installed into a clean environment that has NumPy and ml_dtypes and nothing else, and
used there.

usage: wheel_check.py XLA.whl
"""

import os
import pathlib
import sys
import sysconfig
import tempfile

from wheel_testing import Environment, check_contents, run

OWN_FILES = [
    r"xla/(\w+/)*\w+\.(py|pyi)",
    r"xla/py\.typed",
    r"xla/_core\.so",
    r"xla/libxc\.so",
    r"xla/bin/xla",
    r"xla/include/xc/\w+\.(h|hpp)",
]

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
bundled = ("xc", "absl", "protobuf", "LLVM", "lapack")
ours = {path for path in mapped if any(name in path.rsplit("/", 1)[1] for name in bundled)}
assert ours and all("site-packages/xla/" in path for path in ours), ours
print("used")
"""


def main():
    wheel = os.path.abspath(sys.argv[1])
    fields = check_contents(wheel, "xla", OWN_FILES, {"nanobind", "robin_map"})
    assert fields["Requires-Python"] == "==%d.%d.*" % sys.version_info[:2], fields["Requires-Python"]
    assert fields.get_all("Requires-Dist") == ["numpy>=2.0", "ml_dtypes>=0.5"], fields.get_all("Requires-Dist")
    with tempfile.TemporaryDirectory() as scratch:
        required = pathlib.Path(scratch, "required")
        # What the wheel requires, as it is installed here.
        required.mkdir()
        for found in pathlib.Path(sysconfig.get_paths()["platlib"]).iterdir():
            if found.name.startswith(("numpy", "ml_dtypes")):
                (required / found.name).symlink_to(found)
        clean = Environment(os.path.join(scratch, "venv"), [required])
        clean.install(wheel)
        assert clean.run("-c", PROGRAM) == "used\n"
        assert "replay" in clean.run("-m", "xla", "--help")
        assert "replay" in run(clean.python.parent / "xla", "--help", cwd=scratch, env=clean.variables)
        clean.pip("uninstall", "-y", "xla")
        assert not list(clean.site.glob("xla*")), list(clean.site.glob("xla*"))
    print("the wheel installs and runs")


if __name__ == "__main__":
    main()
