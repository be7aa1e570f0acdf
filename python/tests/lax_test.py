"""xla.lax and xla.nn: compiled results are those on plain arrays, or of NumPy."""

import numpy as np
import pytest

import xla
from xla import lax, nn

CASES = {}


def case(name, function, *arguments, ref=None, tol=1e-6, atol=1e-9):
    CASES[name] = (function, arguments, ref, tol, atol)


x = np.arange(6.0)
r = np.random.default_rng(0)
case("while", lambda x: lax.while_loop(lambda v: v[1] < 10, lambda v: (v[0] * 1.5, v[1] + 1), (x, 0)), x)
case("fori", lambda x, n: lax.fori_loop(0, n, lambda i, v: v * 2 + i, x), x, np.int64(5))
case("scan", lambda x: lax.scan(lambda c, v: (c + v, c * v), 0.0, x), x)
case("scanr", lambda x: lax.scan(lambda c, v: (c + v, (c * v, v)), np.float64(0), x, reverse=True), x)
case("cond", lambda x: lax.cond(x.sum() > 3, lambda v: v + 1, lambda v: v - 1, x), x)
case("switch", lambda x, i: lax.switch(i, [lambda v: v + 1, lambda v: v - 1, lambda v: v * 3], x), x, np.int64(2))
case("ascan", lambda x: lax.associative_scan(np.multiply, x + 1), x)
case("map", lambda x: lax.map(lambda v: v * v, x), x)
A = r.random((3, 4, 5))
B = r.random((3, 5, 2))
case("vmap mm", lambda a, b: lax.vmap(lambda p, q: p @ q)(a, b), A, B, ref=A @ B)
case(
    "vmap mm2",
    lambda a, b: lax.vmap(lambda p, q: np.tanh(p @ q).sum(axis=0), in_axes=(0, None))(a, b),
    A,
    B[0],
    ref=np.tanh(A @ B[0]).sum(1),
)
case(
    "vmap mm3",
    lambda a, b: lax.vmap(lambda p, q: p @ q, in_axes=(None, 0))(a, b),
    A[0],
    B,
    ref=np.array([A[0] @ b for b in B]),
)


def relus(v):
    if v.sum() > 10:
        return v * 2
    return v


def with_ones(a, j):
    a = a.copy()
    a[j : j + 1, j : j + 2] = 1
    return a


case("vmap if", lambda a: lax.vmap(relus)(a), A, ref=np.array([relus(a) for a in A]))
case(
    "vmap idx",
    lambda a, i: lax.vmap(lambda p, j: p[j])(a, i),
    A,
    np.array([0, 2, 1]),
    ref=np.array([a[i] for a, i in zip(A, [0, 2, 1])]),
)
case(
    "vmap idx2",
    lambda a, i: lax.vmap(lambda p, j: p[j], in_axes=(None, 0))(a, i),
    A[0],
    np.array([0, 2, 1]),
    ref=A[0][[0, 2, 1]],
)
case("vmap sort", lambda a: lax.vmap(lambda p: np.sort(p, axis=0))(a), A, ref=np.sort(A, 1))
case(
    "vmap dus",
    lambda a, i: lax.vmap(lambda p, j: lax.dynamic_update_slice(p, np.ones((1, 2)), [j, j]))(a, i),
    A,
    np.array([0, 1, 3]),
    ref=np.stack([with_ones(a, j) for a, j in zip(A, [0, 1, 3])]),
)
case("vmap vmap", lambda a: lax.vmap(lax.vmap(lambda p: p / p.sum()))(a), A, ref=A / A.sum(-1, keepdims=True))
case("vmap conv", lambda a: lax.vmap(lambda p: np.argmax(p, axis=0))(a), A, ref=A.argmax(1))
case("dotg", lambda a, b: lax.dot_general(a, b, (((2,), (1,)), ((0,), (0,)))), A, B, ref=A @ B)
case(
    "doti",
    lambda a, b: lax.dot_general(a, b, (((1,), (0,)), ((), ())), np.int32),
    np.ones((2, 3), np.int8) * 100,
    np.ones((3, 4), np.int8) * 100,
    ref=np.full((2, 4), 30000),
)
im = r.random((2, 3, 8, 9)).astype(np.float32)
k = r.random((4, 3, 3, 3)).astype(np.float32)
case("conv", lambda a, b: lax.conv_general(a, b, padding="SAME"), im, k)
case("conv2", lambda a, b: nn.conv(a, b, strides=2), np.moveaxis(im, 1, 3), np.moveaxis(k, (0, 1), (3, 2)))
case("maxpool", lambda a: nn.max_pool(a, (2, 2)), im)
case("avgpool", lambda a: nn.avg_pool(a, (3, 3), (1, 1), "SAME"), im)
case("topk", lambda a: lax.top_k(a, 2), A)
case("sort2", lambda a, b: lax.sort((a, b), num_keys=2), np.array([2, 1, 2]), np.array([5, 6, 4]))
case("argsort", lambda a: lax.argsort(a), A)
case("iu", lambda a, i: lax.index_update(a, i, 5.0), A, np.array([1, -1]))
case("ia", lambda a, i: lax.index_add(a, i, np.ones(5)), A[0], np.array([1, 1]))
case("seg", lambda a, i: lax.segment_sum(a, i, 4), A[0], np.array([1, 1, 3, 9]))
case("segmax", lambda a, i: lax.segment_max(a, i, 2), A[0], np.array([1, 1, 0, 9]))
case("take", lambda a, i: lax.take(a, i, 1), A, np.array([[1, 1], [0, 3]]))
case("ds", lambda a, i: lax.dynamic_slice(a, [i, 0, 1], (1, 2, 3)), A, np.int64(7))
case("dus", lambda a, i: lax.dynamic_update_slice(a, np.ones((1, 2, 3)), [i, 0, 1]), A, np.int64(1))
case("cumsum", lambda a: (lax.cumsum(a, 1), lax.cummax(a, 2, True), lax.cumlogsumexp(a)), A)
case("barrier", lambda a: lax.optimization_barrier((a + 1, a * 2)), A)
case("barrier1", lambda a: lax.optimization_barrier(a + 1), A)
case("rw", lambda a: lax.reduce_window(a, "add", (1, 2, 2), padding="SAME"), A)
KEY = lax.random.key(42)
for nm, f in dict(
    bits=lambda k: lax.random.bits(k, (7,)),
    split=lambda k: lax.random.split(k, 3),
    uni=lambda k: lax.random.uniform(k, (100,)),
    unif=lambda k: lax.random.uniform(k, (100,), np.float32, -1, 1),
    normal=lambda k: lax.random.normal(k, (1000,)),
    normalf=lambda k: lax.random.normal(k, (1000,), np.float32),
    randint=lambda k: lax.random.randint(k, (50,), -5, 17),
    bern=lambda k: lax.random.bernoulli(k, 0.3, (50,)),
    exp=lambda k: lax.random.exponential(k, (50,)),
    cat=lambda k: lax.random.categorical(k, np.arange(5.0), shape=(40,)),
    perm=lambda k: lax.random.permutation(k, 10),
    choice=lambda k: lax.random.choice(k, 10, (4,)),
    choice2=lambda k: lax.random.choice(k, 10, (4,), False),
    choicer=lambda k: lax.random.choice(k, np.arange(12.0).reshape(6, 2), (2, 2), False),
    choicep=lambda k: lax.random.choice(k, 4, (20,), True, np.array([0.1, 0.2, 0.3, 0.4])),
    fold=lambda k: lax.random.fold_in(k, 7),
    gumbel=lambda k: lax.random.gumbel(k, (30,)),
    drop=lambda k: nn.dropout(k, np.ones(20), 0.5),
).items():
    case("random " + nm, f, KEY, tol=1e-5)
case("keyt", lambda s: lax.random.key(s), np.int64(2**40 + 5))
for (
    nm
) in "relu relu6 leaky_relu elu celu selu sigmoid log_sigmoid silu softplus mish hard_tanh gelu softmax logsumexp log_softmax standardize layer_norm rms_norm".split():
    case("nn " + nm, getattr(nn, nm), (A - 0.5) * 8)
    case("nn f32 " + nm, getattr(nn, nm), ((A - 0.5) * 8).astype(np.float32), tol=1e-4, atol=1e-6)
case("gelu exact", lambda a: nn.gelu(a, False), A)
case("glu", lambda a: nn.glu(a[..., :4]), A)
case("one_hot", lambda a: nn.one_hot(a, 4), np.array([0, 3, 9]))
case("xent", lambda a, l: nn.cross_entropy(a, l), A[0], np.array([0, 3, 1, 2]))
case("attn", lambda q, k, v: nn.scaled_dot_product_attention(q, k, v, causal=True), A, A, A)


@pytest.mark.parametrize("name", CASES)
def test_compiled_and_plain(name):
    function, arguments, want, tol, atol = CASES[name]
    flat = lambda tree: xla._pytree.flatten(tree)[0]
    got = flat(xla.compile(function)(*arguments))
    want = flat(function(*arguments) if want is None else want)
    assert len(got) == len(want)
    for a, b in zip(got, want, strict=True):
        assert np.shape(a) == np.shape(b)
        np.testing.assert_allclose(np.asarray(a, float), np.asarray(b, float), rtol=tol, atol=atol)


def test_bits_of_threefry():
    # The numbers of the generator's published test vectors: counters and keys all 0, and all ones.
    zero, ones = np.zeros(1, np.uint32), np.full(1, 2**32 - 1, np.uint32)
    assert [int(v[0]) for v in lax.random._threefry(np.zeros(2, np.uint32), zero, zero)] == [0x6B200159, 0x99BA4EFE]
    assert [int(v[0]) for v in lax.random._threefry(np.full(2, 2**32 - 1, np.uint32), ones, ones)] == [
        0x1CB996FC,
        0xBB002BE7,
    ]


def test_normal_numbers_have_mean_0_and_variance_1():
    drawn = lax.random.normal(lax.random.key(3), (100000,))
    assert abs(drawn.mean()) < 0.02 and abs(drawn.var() - 1) < 0.02


def test_vmap_falls_back_to_a_loop_over_items():
    text = xla.compile(lax.vmap(relus)).lower(A).hlo()
    assert " while(" in text
    assert " while(" not in xla.compile(lax.vmap(np.tanh)).lower(A).hlo()


@pytest.mark.parametrize(
    "function, arguments, message",
    [
        (lambda x: lax.top_k(x, 9), [np.ones(3)], "top_k of 9 needs a last axis that long"),
        (lambda x: lax.conv(x, np.ones((4, 5, 3))), [np.ones((1, 3, 8))], "do not fit a kernel of 5 inputs"),
        (lambda x: lax.reduce_window(x, "mean", (2,)), [np.ones(4)], "operation is one of"),
        (lambda x: lax.random.split(x), [np.ones(2)], "a key is what random.key gives"),
        (lambda x: lax.vmap(lambda a, b: a + b)(x, np.ones(4)), [np.ones(3)], "as many items in each"),
        (lambda x: lax.scan(lambda c, v: c + v, x[0], x), [np.ones(3)], "gives a pair"),
        (
            lambda x: lax.while_loop(lambda v: v.sum() < 9, lambda v: np.concatenate([v, v]), x),
            [np.ones(3)],
            "the state` is float64",
        ),
        (lambda x: lax.cond(x.sum() > 0, lambda v: v, lambda v: v[:1], x), [np.ones(3)], "the result differs between"),
    ],
)
def test_errors(function, arguments, message):
    with pytest.raises(Exception, match=message):
        xla.compile(function)(*arguments)
