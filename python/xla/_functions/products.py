"""Products of arrays over shared axes: dot, matmul, tensordot, einsum and their relatives, all by HLO's dot."""

import math

import numpy as np

from .. import _ops
from .._tracer import Tracer, concrete, implements, normalize_axis, normalize_axes, result_type, tracer_of, value_of
from ._support import composite, traced


def _common(*xs):
    """The values of xs in their common type."""
    dtype = result_type(*xs)
    return [value_of(x, dtype) for x in xs]


def contract(x, y, batch=((), ()), over=((), ())):
    """dot_general of HLO values; products of truths are any(x and y), as NumPy's are."""
    if x.dtype == np.bool_:
        counts = _ops.dot_general(_ops.convert(x, np.int32), _ops.convert(y, np.int32), batch, over)
        return _ops.compare_number("NE", counts, 0)
    return _ops.dot_general(x, y, batch, over)


@composite(np.dot)
def dot(a, b):
    x, y = _common(a, b)
    if not x.shape or not y.shape:
        return np.multiply(a, b)
    axis = len(y.shape) - 2 if len(y.shape) > 1 else 0
    if x.shape[-1] != y.shape[axis]:
        raise ValueError(
            f"shapes {x.shape} and {y.shape} not aligned: {x.shape[-1]} (dim {len(x.shape) - 1}) != {y.shape[axis]} (dim {axis})"
        )
    return traced(contract(x, y, over=((len(x.shape) - 1,), (axis,))))


@composite(np.inner)
def inner(a, b):
    x, y = _common(a, b)
    if not x.shape or not y.shape:
        return np.multiply(a, b)
    if x.shape[-1] != y.shape[-1]:
        raise ValueError(
            f"shapes {x.shape} and {y.shape} not aligned: {x.shape[-1]} (dim {len(x.shape) - 1}) != {y.shape[-1]} (dim {len(y.shape) - 1})"
        )
    return traced(contract(x, y, over=((len(x.shape) - 1,), (len(y.shape) - 1,))))


@composite(np.vdot)
def vdot(a, b):
    return dot(np.conj(tracer_of(a)).ravel(), tracer_of(b).ravel())


@composite(np.outer)
def outer(a, b):
    return tracer_of(a).ravel()[:, None] * tracer_of(b).ravel()[None, :]


@composite(np.tensordot)
def tensordot(a, b, axes=2):
    x, y = _common(a, b)
    if isinstance(axes, (int, np.integer)):
        left, right = list(range(len(x.shape) - axes, len(x.shape))), list(range(axes))
    else:
        left, right = ([e] if isinstance(e, (int, np.integer)) else list(e) for e in axes)
        left, right = [normalize_axis(i, len(x.shape)) for i in left], [normalize_axis(i, len(y.shape)) for i in right]
    if [x.shape[i] for i in left] != [y.shape[i] for i in right] or len(left) != len(right):
        raise ValueError("shape-mismatch for sum")
    return traced(contract(x, y, over=(left, right)))


@composite(np.trace)
def trace(a, offset=0, axis1=0, axis2=1, dtype=None):
    return np.sum(np.diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)


# einsum: every step combines one or two operands, each with a list of labels.


def _parse(operands):
    """(labels of each operand, labels of the result, operands); broadcast axes (…) are labels that are numbers."""
    if isinstance(operands[0], str):
        text, operands = operands[0].replace(" ", ""), list(operands[1:])
    else:
        letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
        pairs = list(operands)
        out = pairs.pop() if len(pairs) % 2 else None

        def spell(labels):
            return "".join("..." if l is Ellipsis else letters[l] for l in labels)

        text = ",".join(spell(l) for l in pairs[1::2]) + ("" if out is None else "->" + spell(out))
        operands = pairs[::2]
    text, _, result = text.partition("->") if "->" in text else (text, "", None)
    terms = text.split(",")
    if len(terms) != len(operands):
        raise ValueError(
            "more operands provided to einstein sum function than specified in the subscripts string"
            if len(terms) < len(operands)
            else "fewer operands provided to einstein sum function than specified in the subscripts string"
        )
    ranks = [len(value_of(x).shape) for x in operands]
    dots = [rank - len(term.replace("...", "")) if "..." in term else 0 for term, rank in zip(terms, ranks)]
    widest = max(dots, default=0)

    def labels(term, width):
        front, mark, back = term.partition("...")
        return list(front) + (list(range(widest - width, widest)) if mark else []) + list(back)

    inputs = [labels(t, d) for t, d in zip(terms, dots)]
    for term, found, rank in zip(terms, inputs, ranks):
        if len(found) != rank or min(dots) < 0:
            raise ValueError(f"einstein sum subscripts string {term!r} does not fit an operand of {rank} dimensions")
    if result is None:
        flat = [l for term in inputs for l in term if isinstance(l, str)]
        output = list(range(widest)) + sorted(l for l in set(flat) if flat.count(l) == 1)
    else:
        output = labels(result, widest)
    known = {l for term in inputs for l in term}
    for l in output:
        if l not in known or output.count(l) > 1:
            raise ValueError(
                f"einstein sum subscripts string included output subscript {l!r} which never appeared in an input, or appeared twice"
            )
    return inputs, output, operands


def _diagonals(x, labels):
    """Repeated labels of one operand become one: its diagonal."""
    while len(set(labels)) < len(labels):
        label = next(l for l in labels if labels.count(l) > 1)
        i = labels.index(label)
        j = labels.index(label, i + 1)
        x = np.diagonal(traced(x), axis1=i, axis2=j).value
        labels = [l for k, l in enumerate(labels) if k not in (i, j)] + [label]
    return x, labels


def _sum_out(x, labels, keep):
    """Adds up the axes whose label is nowhere else."""
    gone = tuple(i for i, l in enumerate(labels) if l not in keep)
    if not gone:
        return x, labels
    x = _ops.reduce(x, "or" if x.dtype == np.bool_ else "add", gone, 0)
    return x, [l for l in labels if l in keep]


def _pair(x, xs, y, ys, keep):
    """The product of two operands, adding up labels that are not in `keep`."""
    x, xs = _sum_out(x, xs, keep | set(ys))
    y, ys = _sum_out(y, ys, keep | set(xs))
    sizes = {}
    for labels, shape in ((xs, x.shape), (ys, y.shape)):
        for l, d in zip(labels, shape):
            sizes[l] = max(sizes.get(l, 1), d)
            if d not in (1, sizes[l]):
                raise ValueError(f"operands could not be broadcast together: sizes of label {l!r} differ")

    def squeeze(v, labels, other):  # an axis of size 1 that the other operand has larger
        drop = [i for i, l in enumerate(labels) if l in other and v.shape[i] != sizes[l]]
        return _ops.squeeze_axes(v, drop), [l for i, l in enumerate(labels) if i not in drop]

    x, xs = squeeze(x, xs, ys)
    y, ys = squeeze(y, ys, xs)
    x, xs = _sum_out(x, xs, keep | set(ys))
    y, ys = _sum_out(y, ys, keep | set(xs))
    shared = [l for l in xs if l in ys]
    batch, over = [l for l in shared if l in keep], [l for l in shared if l not in keep]
    z = contract(
        x,
        y,
        ([xs.index(l) for l in batch], [ys.index(l) for l in batch]),
        ([xs.index(l) for l in over], [ys.index(l) for l in over]),
    )
    return z, batch + [l for l in xs if l not in shared] + [l for l in ys if l not in shared]


@composite(np.einsum)
def einsum(*operands, optimize=False, dtype=None, order="K", casting="safe"):
    inputs, output, operands = _parse(operands)
    common = np.dtype(dtype) if dtype is not None else result_type(*operands)
    values = [_diagonals(value_of(x, common), labels) for x, labels in zip(operands, inputs)]
    while len(values) > 1:
        best = None
        for i in range(len(values)):
            for j in range(i + 1, len(values)):
                rest = set(output).union(*(v[1] for k, v in enumerate(values) if k not in (i, j)))
                size = _cost(values[i], values[j], rest)
                if best is None or size < best[0]:
                    best = (size, i, j, rest)
        _, i, j, keep = best
        combined = _pair(*values[i], *values[j], keep)
        values = [v for k, v in enumerate(values) if k not in (i, j)] + [combined]
    x, labels = _sum_out(*values[0], set(output))
    return traced(_ops.transpose(x, [labels.index(l) for l in output]))


def _cost(a, b, keep):
    """(elements that the result has more than its operands, multiplications): the greedy choice of what to do next."""
    sizes = dict(zip(a[1], a[0].shape))
    for l, d in zip(b[1], b[0].shape):
        sizes[l] = max(sizes.get(l, 1), d)
    result = math.prod(d for l, d in sizes.items() if l in keep)
    return result - math.prod(a[0].shape) - math.prod(b[0].shape), math.prod(sizes.values())


@implements(np.einsum_path)
def einsum_path(*operands, optimize="greedy", einsum_call=False):
    """Depends on shapes alone, so that NumPy finds it while tracing; np.einsum, compiled, takes an order of its own."""
    shapes = [np.broadcast_to(np.zeros((), o.dtype), o.shape) if isinstance(o, Tracer) else o for o in operands]
    return np.einsum_path(*shapes, optimize=optimize, einsum_call=einsum_call)
