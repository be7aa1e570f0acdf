"""Writes docs/numpy.md: for each public function of numpy, numpy.linalg and numpy.fft whether xla.compile compiles it.

usage: coverage.py [--check] FILE    --check: status 1 if FILE is not what would be written
"""

import sys
import types

import numpy as np

from xla._elementwise import EMITTERS
from xla._products import GUFUNCS
from xla._tracer import HANDLERS

# How a function that works differs from NumPy's.
DIFFERS = {
    "argpartition": "the order that sorts the whole array",
    "argsort": "always stable",
    "choose": "an index out of range is clipped",
    "digitize": "bins that are traced are taken to rise",
    "empty_like": "filled with zeros",
    "linalg.eig": "always complex; a failure gives NaN",
    "linalg.eigvals": "always complex; a failure gives NaN",
    "linalg.cholesky": "a matrix that is not positive definite gives NaN instead of LinAlgError",
    "linalg.inv": "a singular matrix gives NaN instead of LinAlgError",
    "linalg.lstsq": "residuals have the shape of full rank",
    "linalg.solve": "a singular matrix gives NaN instead of LinAlgError",
    "linalg.tensorinv": "a singular matrix gives NaN instead of LinAlgError",
    "linalg.tensorsolve": "a singular matrix gives NaN instead of LinAlgError",
    "nanargmax": "a slice of NaN alone gives 0 instead of ValueError",
    "nanargmin": "a slice of NaN alone gives 0 instead of ValueError",
    "pad": "no function as mode, no odd reflection",
    "partition": "the whole array is sorted",
    "poly": "of a matrix: always complex",
    "place": "no values are an error even where the mask chooses nothing",
    "polydiv": "the remainder has one coefficient less than the divisor, leading zeros too",
    "polyfit": "without full and cov",
    "polymul": "leading zeros are kept",
    "quantile": "without weights, and without the discrete methods of inverted_cdf and closest_observation",
    "percentile": "as quantile",
    "nanquantile": "as quantile",
    "nanpercentile": "as quantile",
    "histogram": "with a number of bins or with edges, not with the name of a rule",
    "histogram_bin_edges": "as histogram",
    "piecewise": "every function is computed on the whole array",
    "ravel_multi_index": "indices out of range are not looked for",
    "roots": "always complex; a leading zero gives NaN",
    "unravel_index": "an index out of range wraps around",
    "where": "with three arguments",
    "take": "a traced index out of range is clipped",
    "take_along_axis": "a traced index out of range is clipped",
}

_STRINGS = "text, files and printing are not for compiled code; do it outside"
_PYTHON = "works on Python objects or functions; nothing to compile"
# Functions that NumPy does not dispatch on their arguments: they run while tracing, and what they make is a constant.
MAKERS = set(
    "arange bartlett blackman eye hamming hanning identity indices kaiser mask_indices ones zeros empty full tri "
    "tril_indices triu_indices diag_indices fft.fftfreq fft.rfftfreq fromfunction fromiter ix_ broadcast_shapes "
    "promote_types issubdtype isdtype isscalar iterable".split()
)
REFUSED = {
    "array": "use np.stack([…]) for traced elements; of plain data it runs while tracing",
    "asarray": "use np.stack([…]) for traced elements; of plain data it runs while tracing",
    **dict.fromkeys(
        "array2string array_repr array_str base_repr binary_repr format_float_positional format_float_scientific "
        "genfromtxt load loadtxt save savetxt savez savez_compressed set_printoptions get_printoptions printoptions "
        "show_config show_runtime info fromfile typename".split(),
        _STRINGS,
    ),
    **dict.fromkeys(
        "frompyfunc vectorize frombuffer bmat nditer nested_iters getbufsize setbufsize "
        "geterr geterrcall seterr seterrcall getbuffersize get_include isfortran "
        "mintypecode may_share_memory shares_memory require from_dlpack asmatrix asanyarray "
        "ascontiguousarray asfortranarray asarray_chkfinite busday_count busday_offset is_busday datetime_as_string "
        "datetime_data fromregex fromstring".split(),
        _PYTHON,
    ),
    "real_if_close": "the result's type would depend on values",
    "isnat": "dates are not compiled",
    "fft.test": _PYTHON,
    "linalg.test": _PYTHON,
    "test": _PYTHON,
}


def public(module):
    """The functions that NumPy shows, ufuncs included; classes and modules are none."""
    names = module.__all__ if hasattr(module, "__all__") else dir(module)
    found = {}
    for name in sorted(set(names)):
        value = getattr(module, name, None)
        if name.startswith("_") or isinstance(value, (type, types.ModuleType)) or not callable(value):
            continue
        found[name] = value
    return found


def rows(module, prefix):
    for name, function in public(module).items():
        full = prefix + name
        if isinstance(function, np.ufunc):
            known = function.__name__ in EMITTERS or function.__name__ in GUFUNCS
        else:
            known = function in HANDLERS
        if full in MAKERS:
            yield full, "works", "runs while tracing; what it makes is a constant"
            continue
        if not known:
            yield full, "refused", REFUSED.get(full, "not compiled")
            continue
        reason = getattr(HANDLERS.get(function), "refused", None)
        if reason:
            yield full, "refused", reason
        elif full in DIFFERS:
            yield full, "differs", DIFFERS[full]
        else:
            yield full, "works", ""


def page():
    every = [r for module, prefix in ((np, ""), (np.linalg, "linalg."), (np.fft, "fft.")) for r in rows(module, prefix)]
    counts = {s: sum(r[1] == s for r in every) for s in ("works", "differs", "refused")}
    lines = [
        "# NumPy functions in compiled code",
        "",
        "Written by `python/coverage.py` from what the package registers: for each public function of `numpy` (as "
        "`np.name`), `numpy.linalg` and `numpy.fft` whether `@xla.compile` compiles it on traced arrays. "
        f"{counts['works']} work as NumPy's do, {counts['differs']} differ as said, {counts['refused']} are refused.",
        "",
        "| function | compiled | how it differs, or why it is refused |",
        "|---|---|---|",
    ]
    return "\n".join(lines + [f"| `{name}` | {status} | {note} |" for name, status, note in every]) + "\n"


def main():
    check, path = "--check" in sys.argv, sys.argv[-1]
    text = page()
    if not check:
        open(path, "w").write(text)
    elif open(path).read() != text:
        sys.exit(f"{path} is not what python/coverage.py writes; run it again")


if __name__ == "__main__":
    main()
