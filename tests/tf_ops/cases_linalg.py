"""Cases of tf_ops.py: factorizations and special functions."""

import numpy as np
import tensorflow as tf

from cases import C64, F16, F32, F64, I32, Case, Fed, data, fed

C128 = np.complex128


def rebuilt_qr(args):
    q, r = tf.raw_ops.Qr(input=args["input"], full_matrices=args["full_matrices"])
    return [tf.linalg.matmul(q, r), tf.linalg.matmul(q, q, adjoint_a=True), tf.abs(r)]


def rebuilt_svd(args):
    s, u, v = tf.raw_ops.Svd(input=args["input"], compute_uv=True, full_matrices=args["full_matrices"])
    k = s.shape[-1]
    left, right = u[..., :k] * tf.cast(s, u.dtype)[..., tf.newaxis, :], v[..., :k]
    return [s, tf.linalg.matmul(left, right, adjoint_b=True), tf.linalg.matmul(u, u, adjoint_a=True)]


def rebuilt_eig(args):
    e, v = tf.raw_ops.SelfAdjointEigV2(input=args["input"], compute_v=True)
    return [e, tf.linalg.matmul(v * e[..., tf.newaxis, :], v, adjoint_b=True)]


def hermitian(shape, dtype):
    x = data(shape, np.complex128 if np.dtype(dtype).kind == "c" else F64)
    return Fed((x + np.conj(np.swapaxes(x, -1, -2))).astype(dtype))


def factorizations():
    # Factors are unique up to signs (or phases): their products are compared.
    for dtype in (F32, F64, C64, C128):
        for shape in ([4, 4], [2, 5, 3], [3, 5]):
            for full in (False, True):
                yield Case("Qr", {"input": fed(shape, dtype), "full_matrices": full}, build=rebuilt_qr)
                yield Case("Svd", {"input": fed(shape, dtype), "full_matrices": full}, build=rebuilt_svd)
            yield Case("Svd", {"input": fed(shape, dtype), "compute_uv": False}, outputs=[0])
        for shape in ([4, 4], [2, 3, 3], [1, 1]):
            yield Case("SelfAdjointEigV2", {"input": hermitian(shape, dtype)}, build=rebuilt_eig)
            yield Case("SelfAdjointEigV2", {"input": hermitian(shape, dtype), "compute_v": False}, outputs=[0])
            yield Case("MatrixDeterminant", {"input": fed(shape, dtype)})
            yield Case("LogMatrixDeterminant", {"input": fed(shape, dtype)})
            yield Case("MatrixInverse", {"input": fed(shape, dtype, seed=5), "adjoint": True})
        yield Case("MatrixDeterminant", {"input": fed([2, 0, 0], dtype)})
        yield Case("LogMatrixDeterminant", {"input": fed([0, 0], dtype)})
        rhs = fed([2, 5, 3], dtype, seed=1)
        diagonals = data([2, 3, 5], dtype)
        diagonals[:, 1] += 3
        yield Case("TridiagonalSolve", {"diagonals": Fed(diagonals), "rhs": rhs})
        parts = {k: fed([2, 1, 5], dtype, seed=i) for i, k in enumerate(("superdiag", "maindiag", "subdiag"))}
        yield Case("TridiagonalMatMul", dict(parts, rhs=rhs))
    for dtype in (F32, F64):
        lower = np.tril(data([2, 4, 4], dtype)) + 3 * np.eye(4, dtype=dtype)
        yield Case("CholeskyGrad", {"l": Fed(lower), "grad": Fed(np.tril(data([2, 4, 4], dtype, seed=3)))})


def banded():
    for dtype in (F32, F64, C64, C128):
        for bands, rhs in (([1, 5], [5, 2]), ([3, 6], [6, 1]), ([3, 3], [3, 2]), ([2, 1, 2, 4], [3, 4, 2])):
            values = data(bands, dtype)
            values[..., 0, :] += 4
            values[..., -1, :] += 4
            for lower in (False, True):
                # What lies outside the matrix does not count.
                odd = values.copy()
                for d in range(1, min(bands[-2], bands[-1])):
                    if lower:
                        odd[..., d, :d] = np.nan
                    else:
                        odd[..., -1 - d, -d:] = np.nan
                for adjoint in (False, True):
                    call = {"matrix": Fed(odd), "rhs": fed(rhs, dtype, seed=1), "lower": lower, "adjoint": adjoint}
                    yield Case("BandedTriangularSolve", call)


def rebuilt_general(args):
    """Vectors are unique up to phases."""
    e, v = tf.raw_ops.Eig(input=args["input"], Tout=args["Tout"])
    return [e, tf.abs(v), tf.linalg.matmul(v * e[..., tf.newaxis, :], tf.linalg.inv(v))]


def matrix_functions():
    for dtype in (F32, F64, C64, C128):
        wide = C64 if dtype in (F32, C64) else C128
        for shape in ([4, 4], [2, 3, 3], [1, 1], [0, 0]):
            x = data(shape, dtype)
            root = (x @ np.conj(np.swapaxes(x, -1, -2)) + np.eye(shape[-1])).astype(dtype) if shape[-1] else x
            yield Case("MatrixSquareRoot", {"input": Fed(root)}, compiled=False)
            general = (x + 4 * np.eye(shape[-1])).astype(dtype)
            if dtype in (C64, C128):
                yield Case("MatrixSquareRoot", {"input": Fed(general)}, compiled=False)
                yield Case("MatrixLogarithm", {"input": Fed(general)}, compiled=False)
                yield Case("MatrixLogarithm", {"input": Fed(root)}, compiled=False)
            if shape[-1]:
                yield Case("Eig", {"input": Fed(x), "Tout": wide}, build=rebuilt_general, compiled=False)
                alone = {"input": Fed(root), "compute_v": False, "Tout": wide}
                yield Case("Eig", alone, outputs=[0], compiled=False)
        for rows, columns in ((5, 3), (3, 5), (4, 4), (1, 1), (2, 0)):
            for fast in (False, True):
                for regularizer in (0.0, 0.3):
                    call = {"matrix": fed([2, rows, columns], dtype), "rhs": fed([2, rows, 2], dtype, seed=1)}
                    call = dict(call, l2_regularizer=np.float64(regularizer), fast=fast)
                    yield Case("MatrixSolveLs", call, compiled=False)
        low = np.array([[1, 2, 3], [2, 4, 6], [1, 0, 1]], dtype)
        call = {"matrix": Fed(low), "rhs": fed([3, 2], dtype), "l2_regularizer": np.float64(0), "fast": False}
        yield Case("MatrixSolveLs", call, compiled=False)


def special():
    for dtype in (F32, F64):
        for shapes in (([60], [60]), ([5, 1], [1, 40]), ([], [30])):
            a, x = fed(shapes[0], dtype, 0.05, 12), fed(shapes[1], dtype, 0.01, 20, seed=1)
            for op in ("Igamma", "Igammac", "IgammaGradA"):
                yield Case(op, {"a": a, "x": x})
            yield Case("RandomGammaGrad", {"alpha": a, "sample": x})
            yield Case("Zeta", {"x": fed(shapes[0], dtype, 1.05, 9), "q": x})
            yield Case("NextAfter", {"x1": fed(shapes[0], dtype), "x2": fed(shapes[1], dtype, seed=1)})
        odd = [0.0, 1.0, 2.0, -1.0, np.inf, np.nan, 0.5, 100.0]
        pairs = np.array([(p, q) for p in odd for q in odd], dtype)
        for op in ("Igamma", "Igammac"):
            yield Case(op, {"a": Fed(pairs[:, 0]), "x": Fed(pairs[:, 1])})
        yield Case("NextAfter", {"x1": Fed(pairs[:, 0]), "x2": Fed(pairs[:, 1])})
        order = Fed(np.arange(6).repeat(10).astype(dtype))
        yield Case("Polygamma", {"a": order, "x": fed([60], dtype, 0.1, 9)})
        u = fed([80], dtype, 0, 1, seed=2)
        yield Case("Betainc", {"a": fed([80], dtype, 0.05, 9), "b": fed([80], dtype, 0.05, 9, seed=1), "x": u})
        ends = Fed(np.array([0, 1, 0.5, 0], dtype))
        yield Case("Betainc", {"a": fed([4], dtype, 1, 2), "b": fed([4], dtype, 1, 2), "x": ends})
    for dtype in (F32, F64, F16):  # the host has no kernels for bfloat16
        for op in ("BesselI0e", "BesselI1e"):
            for scale in (1, 15, 200):
                yield Case(op, {"x": fed([50], dtype, -scale, scale)})
        yield Case("Digamma", {"x": fed([50], dtype, 0.1, 9)})
        yield Case("Lgamma", {"x": fed([50], dtype, 0.1, 9)})
    for op in ("BesselI0", "BesselI1"):
        yield Case(op, {"x": fed([50], F64, -30, 30)})
    for op in ("BesselI0e", "Igamma", "Zeta"):
        args = {"BesselI0e": {"x": fed([0, 3])}, "Igamma": {"a": fed([0, 3]), "x": fed([0, 3])}}
        yield Case(op, args.get(op) or {"x": fed([0, 3]), "q": fed([0, 3])})


def linalg_cases():
    for family in (factorizations, banded, matrix_functions, special):
        yield from family()
