"""Runs every program of the gallery as plain NumPy and compiled, compares the results, prints how much faster the compiled
one is, and draws it.

usage: run.py [--small] [--plot=FILE.svg] [NAME…]
"""

import argparse
import importlib
import pathlib
import sys
import time

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

NAMES = """kmeans conjugate_gradient nbody mandelbrot fft_convolution kalman ode_solver black_scholes image_filters
ridge_regression gaussian_process pca metropolis viterbi transformer""".split()


def leaves(tree):
    if isinstance(tree, (tuple, list)):
        return [leaf for part in tree for leaf in leaves(part)]
    return [np.asarray(tree)]


def compare(got, want):
    """Raises an AssertionError where results differ by more than rounding."""
    got, want = leaves(got), leaves(want)
    assert len(got) == len(want)
    for a, b in zip(got, want):
        assert a.shape == b.shape and a.dtype == b.dtype, f"{a.dtype}{a.shape} is not {b.dtype}{b.shape}"
        if b.dtype.kind in "fc":
            rtol, scale = (2e-4, 1e-3) if b.dtype == np.float32 else (1e-7, 1e-9)
            np.testing.assert_allclose(a, b, rtol=rtol, atol=scale * max(1.0, float(np.abs(b).max(initial=0))))
        else:
            np.testing.assert_array_equal(a, b)


def best_seconds(function, arguments, budget=0.5):
    """The least time of a call, over as many calls as the budget has room for, three at least."""
    times, end = [], time.perf_counter() + budget
    while len(times) < 3 or (time.perf_counter() < end and len(times) < 200):
        start = time.perf_counter()
        function(*arguments)
        times.append(time.perf_counter() - start)
    return min(times)


def measure(name, small):
    """(seconds to the first result, seconds of a later call, seconds of plain NumPy)."""
    module = importlib.import_module(name)
    arguments = module.inputs(small, np.random.default_rng(0))
    start = time.perf_counter()
    got = module.program(*arguments)
    first = time.perf_counter() - start
    want = module.program.__wrapped__(*arguments)
    compare(got, want)
    return first, best_seconds(module.program, arguments), best_seconds(module.program.__wrapped__, arguments)


def plot(rows):
    """An SVG picture of the speed-ups: a bar for each program, on a logarithmic scale."""
    top = max(2.0, max(plain / quick for _, _, quick, plain in rows))
    width = lambda ratio: max(1.0, 420 * np.log10(max(ratio, 1.0)) / np.log10(top))
    parts = []
    for i, (name, _, quick, plain) in enumerate(rows):
        y, ratio = 24 * i + 12, plain / quick
        parts.append(f'<text x="150" y="{y + 12}" text-anchor="end">{name}</text>')
        parts.append(f'<rect x="160" y="{y}" width="{width(ratio):.1f}" height="16" fill="#4477aa"/>')
        parts.append(f'<text x="{165 + width(ratio):.1f}" y="{y + 12}">{ratio:.1f}×</text>')
    height = 24 * len(rows) + 24
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="660" height="{height}" font-family="sans-serif" font-size="12">'
        f'<rect width="100%" height="100%" fill="white"/>{"".join(parts)}</svg>\n'
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--small", action="store_true", help="small sizes: a check, no measurement")
    parser.add_argument("--plot", help="where to write the picture")
    parser.add_argument("names", nargs="*", help=f"of {', '.join(NAMES)}")
    options = parser.parse_args()
    unknown = [n for n in options.names if n not in NAMES]
    if unknown:
        parser.error(f"no program {unknown[0]!r}; there are {', '.join(NAMES)}")
    rows = []
    print(f"{'program':20}{'first call':>14}{'compiled':>14}{'NumPy':>14}{'speed-up':>10}")
    for name in options.names or NAMES:
        first, quick, plain = measure(name, options.small)
        rows.append((name, first, quick, plain))
        print(
            f"{name:20}{first * 1e3:11.1f} ms{quick * 1e3:11.3f} ms{plain * 1e3:11.3f} ms{plain / quick:9.1f}×",
            flush=True,
        )
    print(f"geometric mean of the speed-ups: {np.exp(np.mean([np.log(p / q) for _, _, q, p in rows])):.2f}×")
    if options.plot:
        pathlib.Path(options.plot).write_text(plot(rows))


if __name__ == "__main__":
    main()
