"""Functions as people write them for NumPy: loops, branches, functions within, and Python's numbers, lists and dicts."""

import numpy as np

from programs import V, X, program


@program(V)
def loop_acc(v):
    s = 0.0
    out = []
    for i in range(len(v)):
        s += v[i]
        out.append(s)
    return np.array(out)


@program(V)
def loop_zeros(v):
    out = np.zeros_like(v)
    for i in range(1, len(v)):
        out[i] = out[i - 1] * 0.5 + v[i]
    return out


@program(V)
def branch(v):
    if v.sum() > 0:
        return v * 2
    else:
        return v - 1


@program(V)
def branch2(v):
    m = v.max()
    if m > 1 and v.min() < 0:
        r = m
    elif m > 0.5:
        r = m * 2
    else:
        r = 0.0
    return r


@program(X)
def unpack(x):
    a, b, *rest = x.T
    return a * b + sum(rest)


@program(X)
def rows(x):
    return np.array([row.sum() for row in x]), [r.max() for r in x], sum(x)


@program(V)
def newton(v):
    x = np.ones_like(v)
    for _ in range(50):
        x = x - (x**3 - v) / (3 * x**2 + 1e-9)
    return x


@program(2.0)
def while_(a):
    x = a
    while abs(x * x - a) > 1e-10:
        x = (x + a / x) / 2
    return x


@program({"w": X, "b": V[:4]}, X)
def dicts(params, x):
    return {"y": x @ params["w"].T + 1, "b": params["b"] ** 2}, [x[0], (x[1],)]


@program(V)
def list_append(v):
    out = []
    for a in v:
        if a > 0:
            out.append(a)
        else:
            out.append(-a * 2)
    return np.stack(out)


@program(V)
def float_fmt(v):
    s = f"{v}"
    return v + len(s) * 0


@program(V)
def swap(v):
    w = v.copy()
    w[0], w[1] = w[1], w[0]
    return w


@program(V)
def listcomp(v):
    return np.array([v[i] * i for i in range(6) if i % 2 == 0]), np.array([[v[0], v[1]], [v[2], v[3]]]) @ np.array(
        [1.0, 2]
    )


@program(np.arange(6), np.array(2))
def dyn_index(a, i):
    return a[i], a[i + 1], np.take(a, i), a[-i]


@program(np.arange(6.0), np.array(2))
def dyn_write(a, i):
    b = a.copy()
    b[i] = 100
    b[i + 1] += 5
    return b


@program(V)
def global_fn(v):
    def inner(a, k=2):
        return a**k

    return sum(inner(v, k) for k in range(3)), list(map(np.sin, [v, v]))[0], (lambda q: q + 1)(v)


@program(V)
def early(v):
    for a in v:
        if a < -1:
            return a
    return v[0] * 0


@program(V)
def trye(v):
    try:
        r = np.log(v)
    except ValueError:
        r = v
    return np.nan_to_num(r)


@program(V)
def tofloat(v):
    return float(v.sum()) * 2


@program(V)
def intc(v):
    return int(v[0] * 10)


@program(V)
def walrus(v):
    if (n := len(v)) > 3:
        v = v * n
    return v


@program(V)
def mtch(v):
    match v.ndim:
        case 1:
            return v + 1
        case _:
            return v


@program(V)
def aug(v):
    t = 0
    for i, a in enumerate(v):
        t += a * i
    for a, b in zip(v, v[1:]):
        t += a * b
    return t


@program(X)
def cumloop(x):
    h = np.zeros(4)
    for r in x:
        h = np.tanh(h + r)
    return h


@program(X)
def bigloop(x):
    h = np.zeros(4)
    c = 0
    for t in range(100):
        h = np.tanh(h + x[t % 6])
        c += 1
    return h, c


@program(X)
def state(x):
    hist = np.zeros((100, 4))
    h = x[0]
    for t in range(100):
        h = h * 0.9 + 0.1
        hist[t] = h
    return hist
