"""Calls that NumPy refuses: the compiled function raises an error of the same type."""

import warnings

import numpy as np
import pytest

import xla

CALLS = {
    "matmul of sizes": lambda x, v, i: x @ v[:2],
    "matmul of a number": lambda x, v, i: np.matmul(x, 2.0),
    "dot of sizes": lambda x, v, i: np.dot(x, x),
    "vdot of sizes": lambda x, v, i: np.vdot(v, v[:2]),
    "inner of sizes": lambda x, v, i: np.inner(x, v[:2]),
    "tensordot of sizes": lambda x, v, i: np.tensordot(x, x, 1),
    "einsum of sizes": lambda x, v, i: np.einsum("ij,jk", x, x),
    "einsum of a wrong text": lambda x, v, i: np.einsum("ij->ik", x),
    "einsum of dimensions": lambda x, v, i: np.einsum("ijk->i", x),
    "einsum of operands": lambda x, v, i: np.einsum("ij,jk", x),
    "broadcasting": lambda x, v, i: x + v[:2],
    "broadcast_to": lambda x, v, i: np.broadcast_to(v, (2, 2)),
    "broadcast_arrays": lambda x, v, i: np.broadcast_arrays(x, v[:2]),
    "reshape": lambda x, v, i: x.reshape(4, 2),
    "reshape of two unknown sizes": lambda x, v, i: x.reshape(-1, -1),
    "reshape to -1 that does not divide": lambda x, v, i: x.reshape(4, -1),
    "sum over an axis": lambda x, v, i: x.sum(axis=2),
    "sum over an axis twice": lambda x, v, i: x.sum(axis=(0, 0)),
    "max of nothing": lambda x, v, i: x[:0].max(),
    "min of nothing": lambda x, v, i: np.min(x[:, :0], axis=1),
    "argmax of nothing": lambda x, v, i: np.argmax(v[:0]),
    "argmin over an axis": lambda x, v, i: np.argmin(x, axis=3),
    "concatenate of sizes": lambda x, v, i: np.concatenate([x, v[None, :2]]),
    "concatenate of dimensions": lambda x, v, i: np.concatenate([x, v]),
    "concatenate of nothing": lambda x, v, i: np.concatenate([]),
    "stack of sizes": lambda x, v, i: np.stack([v, v[:2]]),
    "stack on an axis": lambda x, v, i: np.stack([v, v], axis=5),
    "vstack of sizes": lambda x, v, i: np.vstack([x, v[:2]]),
    "split": lambda x, v, i: np.split(v, 2),
    "transpose": lambda x, v, i: np.transpose(x, (0, 0)),
    "transpose of dimensions": lambda x, v, i: np.transpose(x, (0, 1, 2)),
    "swapaxes": lambda x, v, i: np.swapaxes(x, 0, 2),
    "moveaxis": lambda x, v, i: np.moveaxis(x, 0, 5),
    "squeeze": lambda x, v, i: np.squeeze(x, axis=0),
    "expand_dims": lambda x, v, i: np.expand_dims(x, 5),
    "flip": lambda x, v, i: np.flip(x, 2),
    "roll": lambda x, v, i: np.roll(x, 1, axis=2),
    "rot90": lambda x, v, i: np.rot90(v),
    "take": lambda x, v, i: np.take(v, [7]),
    "index": lambda x, v, i: x[5],
    "too many indices": lambda x, v, i: x[0, 0, 0],
    "index of a float": lambda x, v, i: x[1.5],
    "index of a text": lambda x, v, i: x["a"],
    "mask of sizes": lambda x, v, i: np.sum(x[np.ones((3, 3), bool)]),
    "two ellipses": lambda x, v, i: x[..., ...],
    "bits of floats": lambda x, v, i: x & 1,
    "not of floats": lambda x, v, i: ~x,
    "shift of floats": lambda x, v, i: x << 1,
    "minus of booleans": lambda x, v, i: (x > 0) - (x > 1),
    "negative of booleans": lambda x, v, i: -(x > 0),
    "integers to a negative power": lambda x, v, i: i**-1,
    "uint8 and a number out of range": lambda x, v, i: i.astype(np.uint8) + 300,
    "uint8 and a negative number": lambda x, v, i: i.astype(np.uint8) * -1,
    "sort over an axis": lambda x, v, i: np.sort(x, axis=2),
    "diff of a number": lambda x, v, i: np.diff(v[0]),
    "diff of a negative order": lambda x, v, i: np.diff(v, -1),
    "clip without limits of a size": lambda x, v, i: np.clip(x, v[:2], 3),
    "where of sizes": lambda x, v, i: np.where(x > 0, v[:2], 0),
    "linalg.inv of a shape": lambda x, v, i: np.linalg.inv(x),
    "linalg.solve of sizes": lambda x, v, i: np.linalg.solve(x @ x.T, v),
    "linalg.det of a vector": lambda x, v, i: np.linalg.det(v),
    "linalg.cholesky of a shape": lambda x, v, i: np.linalg.cholesky(x),
    "linalg.norm of an order": lambda x, v, i: np.linalg.norm(x, 7),
    "linalg.matrix_power": lambda x, v, i: np.linalg.matrix_power(x, 2),
    "cross of sizes": lambda x, v, i: np.cross(x, np.ones(4)),
    "diag of dimensions": lambda x, v, i: np.diag(x[None]),
    "trace of a vector": lambda x, v, i: np.trace(v),
    "tril of a number": lambda x, v, i: np.tril(x[0, 0]),
    "pad with a wrong width": lambda x, v, i: np.pad(x, ((1, 2, 3),)),
    "pad with a wrong mode": lambda x, v, i: np.pad(x, 1, mode="nothing"),
    "convolve of nothing": lambda x, v, i: np.convolve(v, v[:0]),
    "interp of sizes": lambda x, v, i: np.interp(v, v, v[:2]),
    "quantile out of range": lambda x, v, i: np.quantile(v, 1.5),
    "percentile out of range": lambda x, v, i: np.percentile(v, [50, 101]),
    "average with weights of a size": lambda x, v, i: np.average(x, weights=v[:2]),
    "astype of a text": lambda x, v, i: x.astype("nothing"),
    "iteration over a number": lambda x, v, i: sum(x.sum()),
    "length of a number": lambda x, v, i: len(x.sum()),
    "unpacking": lambda x, v, i: (lambda a, b: a)(*v),
    "an attribute": lambda x, v, i: x.nothing,
    "a wrong keyword": lambda x, v, i: np.sum(x, nothing=1),
    "a missing argument": lambda x, v, i: np.where(),
    "an out of a shape": lambda x, v, i: np.add(v, v, out=np.zeros(2)),
    "a store of a shape": lambda x, v, i: x.copy().__setitem__(0, v[:2]),
    "a store out of range": lambda x, v, i: x.copy().__setitem__(9, 1),
    "an int store of 300 into uint8": lambda x, v, i: i.astype(np.uint8).__setitem__(0, 300),
    "in place with another type": lambda x, v, i: i.copy().__iadd__(x[0]),
    "fft of an axis": lambda x, v, i: np.fft.fft(v, axis=1),
    "fft of no length": lambda x, v, i: np.fft.fft(v, 0),
    "meshgrid indexing": lambda x, v, i: np.meshgrid(v, v, indexing="ab"),
    "searchsorted side": lambda x, v, i: np.searchsorted(v, v, side="middle"),
    "histogram of no bins": lambda x, v, i: np.histogram(v, 0),
    "repeat of sizes": lambda x, v, i: np.repeat(v, [1, 2]),
    "delete out of range": lambda x, v, i: np.delete(v, 9),
    "insert out of range": lambda x, v, i: np.insert(v, 9, 1),
    "unravel_index out of range": lambda x, v, i: np.unravel_index(np.array([9]), (2, 2)) + v,
    "cumsum over an axis": lambda x, v, i: np.cumsum(x, axis=2),
    "apply_along_axis": lambda x, v, i: np.apply_along_axis(np.sum, 3, x),
    "comparison of complex numbers as an index": lambda x, v, i: x[v * 1j],
    "floor of complex numbers": lambda x, v, i: np.floor(x * 1j),
    "remainder of complex numbers": lambda x, v, i: (x * 1j) % 2,
    "partition out of range": lambda x, v, i: np.partition(v, 9),
}


@pytest.mark.parametrize("name", CALLS)
def test_error_is_of_the_type_of_numpys(name):
    arguments = np.arange(6.0).reshape(2, 3), np.arange(3.0), np.arange(1, 4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with pytest.raises(Exception) as wanted:
            CALLS[name](*arguments)
        with pytest.raises(Exception) as got:
            xla.compile(CALLS[name])(*arguments)
    # Some of NumPy's types have private names; what a program can catch is the public one that they derive from.
    public = next(t for t in wanted.type.__mro__ if t.__module__ in ("builtins", "numpy.exceptions", "numpy.linalg"))
    assert isinstance(got.value, public), f"NumPy: {wanted.value!r}, compiled: {got.value!r}"
