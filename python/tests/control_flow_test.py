"""Python control flow on traced values: results are those of the plain functions, and errors name the user's line."""

import numpy as np
import pytest

import xla


def early_return(x):
    if x > 3:
        return x * 2
    if x < 0:
        return -x
    y = x + 1
    return y


def halving(x):
    i = 0
    while x > 1:
        x = x / 2
        i += 1
    return x, i


def collatz(n):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
        if steps > 100:
            break
    return steps


def with_continue(n, x):
    s = 0.0
    for i in range(n):
        if i == 3:
            continue
        s = s + x * i
    return s


def first_index(x, v):
    for i in range(40):
        if x[i] > v:
            return i
    return -1


def boolops(x, y):
    if x > 0 and not (y > 0 or x > 5):
        return 1.0
    return 2.0 if 0 < x < 10 else 3.0


def written_in_branches(x, n):
    out = x.copy()
    for i in range(n):
        if out[i] > 0:
            out[i] = -out[i]
    return out


def written_in_kept_loop(x):
    out = x * 0
    for i in range(30):
        out[i % 4] += x[i % 4] * i
    return out


def newton(a):
    x = a
    while True:
        nx = 0.5 * (x + a / x)
        if abs(nx - x) < 1e-9:
            break
        x = nx
    return x


def inner_function(x):
    def sq(v):
        if v > 2:
            return v * v
        return v

    t = 0.0
    for i in range(3):
        t = t + sq(x + i)
    return t


def unused_variable_of_one_way(x):
    if x > 0:
        z = 1.0
    y = x + 1
    return y


def kept_loop(x):
    for i in range(100):
        x = x * 0.9 + i
    return x


def list_that_grows(x):
    l = []
    for i in range(20):
        l.append(x * i)
    return sum(l)


def plain_array_becomes_traced(x):
    out = np.zeros(5)
    for i in range(5):
        out[i] = x * i
    return out


def plain_array_in_kept_loop(x):
    out = np.zeros(50)
    for i in range(50):
        out[i] = x * i
    return out


def loop_with_else(x):
    i = 0
    while i < 10:
        if x * i > 7:
            r = i
            break
        i += 1
    else:
        r = -1
    return r


def fixed_point(x):
    tol = 1.0
    k = 0
    while tol > 1e-3 and k < 50:
        y = np.cos(x)
        tol = np.max(np.abs(y - x))
        x = y
        k += 1
    return x, k


def rows_of_an_array(m):
    s = m[0] * 0
    for r in m:
        if r[0] > 0:
            s = s + r
    return s


def enumerated(m):
    s = 0.0
    for i, (a, b) in enumerate(zip(m, m + 1)):
        s += i * (a * b).sum()
    return s


def conditional_expression(x):
    a = x if x > 0 else -x
    b = max(x, 2.0)
    return a + b


def walrus(x):
    if (y := x * 2) > 4:
        y = y + 1
    return y


class Above:
    def __init__(self, k):
        self.__k = k

    def f(self, x):
        if x > self.__k:
            return x - self.__k
        return x


def method_with_private_name(x):
    return Above(2.0).f(x)


def trees(x):
    s = (x, x * 2)
    d = {"a": x, "b": 0}
    while s[0] < 10:
        s = (s[0] + 1, s[1] * 1.5)
        d = {"a": d["a"] + 1, "b": d["b"] + 1}
    return s, d


def escape_time(c):
    z = 0j
    n = 0
    for k in range(50):
        if abs(z) > 2:
            break
        z = z * z + c
        n = k
    return n


CASES = [
    (early_return, [(5.0,), (-2.0,), (1.0,)]),
    (halving, [(100.0,), (0.5,)]),
    (collatz, [(6,), (27,)]),
    (with_continue, [(6, 2.0), (0, 1.0)]),
    (first_index, [(np.arange(40.0), 7.5), (np.arange(40.0), 100.0)]),
    (boolops, [(1.0, -1.0), (1.0, 1.0), (-1.0, 0.0), (7.0, 0.0)]),
    (written_in_branches, [(np.array([1.0, -2, 3, 4]), 3)]),
    (written_in_kept_loop, [(np.array([1.0, -2, 3, 4]),)]),
    (newton, [(2.0,), (9.0,)]),
    (inner_function, [(1.0,)]),
    (unused_variable_of_one_way, [(1.0,)]),
    (kept_loop, [(1.0,), (np.ones(3),)]),
    (list_that_grows, [(1.5,)]),
    (plain_array_becomes_traced, [(1.5,)]),
    (plain_array_in_kept_loop, [(1.5,)]),
    (loop_with_else, [(1.5,), (0.1,)]),
    (fixed_point, [(1.5,), (np.ones(3),)]),
    (rows_of_an_array, [(np.arange(15.0).reshape(5, 3) - 7,), (np.sin(np.arange(150.0)).reshape(50, 3),)]),
    (enumerated, [(np.arange(15.0).reshape(5, 3) - 7,), (np.sin(np.arange(150.0)).reshape(50, 3),)]),
    (conditional_expression, [(1.5,), (-4.0,)]),
    (walrus, [(1.5,), (4.0,)]),
    (method_with_private_name, [(1.5,), (4.0,)]),
    (trees, [(1.5,), (14.0,)]),
    (escape_time, [(0.1 + 0.2j,), (1 + 1j,)]),
]


@pytest.mark.parametrize(
    "function, arguments", [(f, a) for f, many in CASES for a in many], ids=lambda v: getattr(v, "__name__", "")
)
def test_results_are_those_of_python(function, arguments):
    arguments = [np.asarray(a) for a in arguments]
    want = function(*[a.copy() if a.ndim else a[()] for a in arguments])
    got = xla.compile(function)(*arguments)
    flat = lambda tree: xla._pytree.flatten(tree)[0]
    assert len(flat(got)) == len(flat(want))
    for a, b in zip(flat(got), flat(want)):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_long_loops_are_kept():
    text = xla.compile(kept_loop).lower(np.ones(3)).hlo()
    assert text.count(" while(") == 1 and text.count(" multiply(") == 1


def test_small_branches_become_selects():
    def f(x, y):
        if x > 0:
            x = x + y
        return x

    text = xla.compile(f).lower(1.0, 2.0).hlo()
    assert " select(" in text and " conditional(" not in text
    assert xla.compile(f)(1.0, 2.0) == 3.0 and xla.compile(f)(-1.0, 2.0) == -1.0


def test_large_branches_stay_branches():
    def f(x):
        if x[0] > 0:
            x = np.sin(x)
        return x

    assert " conditional(" in xla.compile(f).lower(np.ones(3)).hlo()


def test_random_numbers_drawn_in_a_loop_stay_different():
    def noisy(x):
        rng = np.random.default_rng(0)
        for _ in range(40):
            x = x + rng.normal()
        return x

    np.testing.assert_allclose(xla.compile(noisy)(np.zeros(2)), noisy(np.zeros(2)))


def test_plain_conditions_stay_python():
    seen = []

    def f(x, flag):
        if flag:
            seen.append("yes")
        if x > 0:
            return x
        return -x

    assert xla.compile(f, static_argnums=1)(np.float64(-2.0), True) == 2.0
    assert "yes" in seen


def test_elements_are_numbers_and_not_views():
    def bubble_sort(x):
        x = x.copy()
        for i in range(len(x)):
            for j in range(len(x) - 1 - i):
                if x[j] > x[j + 1]:
                    x[j], x[j + 1] = x[j + 1], x[j]
        return x

    x = np.array([3.0, 1, 2, 5, 4] * 5)
    np.testing.assert_array_equal(xla.compile(bubble_sort)(x), np.sort(x))


def test_assertions():
    @xla.compile
    def f(x, n):
        for i in range(n):
            assert x[i] > 0, f"element {x.shape} must be positive"
        return x + 1

    for _ in range(2):
        np.testing.assert_array_equal(f(np.arange(1.0, 5.0), 4), np.arange(2.0, 6.0))
        with pytest.raises(AssertionError, match=r"control_flow_test.py:\d+: the assertion does not hold: element"):
            f(np.array([1.0, -1.0]), 2)
        f(np.array([1.0, -1.0]), 1)


def test_creation_from_traced_values():
    def f(x, n):
        while n > 0:
            x = np.array([x[0] + x[1], x[0] * 0.5])
            n = n - 1
        return x, np.full((2, 2), x[0]), np.take(np.arange(5), n)

    want = f(np.array([1.0, 2.0]), 3)
    for a, b in zip(xla.compile(f)(np.array([1.0, 2.0]), 3), want):
        np.testing.assert_allclose(a, b)


class Account:
    """Something whose attributes functions set."""

    rate = 0.5

    def __init__(self, balance=0.0):
        self.balance = balance
        self.inner = None

    @property
    def doubled(self):
        return self.balance * 2

    @doubled.setter
    def doubled(self, value):
        self.balance = value / 2

    def less(self):
        self.balance = self.balance - 1
        return self.balance

    def pay(self, amount):
        if amount > self.balance:
            self.balance = 0.0
            return amount - self.balance
        self.balance -= amount
        return amount


def attribute_of_one_way(x):
    a = Account(x)
    if x > 1:
        a.balance = x * 2
    return a.balance


def attributes_by_method(x):
    a = Account(5.0)
    return a.pay(x), a.pay(x), a.balance


def attribute_of_a_loop(x):
    a = Account(x)
    a.count = 0
    while a.balance < 10:
        a.balance = a.balance + 3
        a.count += 1
    return a.balance, a.count


def attribute_of_a_long_loop(x):
    a = Account()
    for i in range(40):
        if x > i:
            a.balance += x * i
    return a.balance


def attributes_exchanged(x):
    a = Account(x)
    a.other = -x
    if x > 0:
        a.balance, a.other = a.other, a.balance
    return a.balance, a.other


def attribute_of_an_attribute(x):
    a = Account()
    a.inner = Account(x)
    if x > 0:
        a.inner.balance = x + 1
    else:
        a.inner.doubled = x
    setattr(a.inner, "tax", 1.0)
    while a.inner.balance > 1:
        setattr(a.inner, "balance", a.inner.balance / 2)
    return a.inner.balance, a.inner.tax


def object_made_in_a_loop(x):
    total = x
    for i in range(30):
        a = Account(total)
        a.balance = a.balance * 0.5
        a.rate = a.rate + i
        total = a.balance + a.rate
    return total


def array_of_an_attribute(x):
    a = Account()
    a.values = np.zeros(3) + x
    while a.values.sum() < 30:
        a.values += 1
        a.values[0] += 2
    return a.values


def class_attribute_hidden(x):
    a = Account(x)
    if x > 0:
        a.rate = x
    return a.rate * 1.0


@pytest.mark.parametrize("x", [-3.0, 0.5, 4.0])
@pytest.mark.parametrize(
    "function",
    [
        attribute_of_one_way,
        attributes_by_method,
        attribute_of_a_loop,
        attribute_of_a_long_loop,
        attributes_exchanged,
        attribute_of_an_attribute,
        object_made_in_a_loop,
        array_of_an_attribute,
        class_attribute_hidden,
    ],
)
def test_attributes_set_under_traced_conditions(function, x):
    for got, want in zip(np.atleast_1d(xla.compile(function)(x)), np.atleast_1d(function(x))):
        np.testing.assert_allclose(got, want, rtol=1e-12)


def test_attributes_without_one_value():
    def one_way(x):
        a = Account()
        if x > 0:
            a.late = x
        return a.late

    assert "`.late` of a Account has a value on only one way" in fails(one_way, 1.0)

    def deleted(x):
        a = Account()
        a.late = x
        if x > 0:
            del a.late
        return a.late

    assert "`.late` of a Account has a value on only one way" in fails(deleted, 1.0)

    def other_type(x):
        a = Account()
        if x > 0:
            a.balance = np.ones(3)
        return a.balance

    assert "`.balance` of a Account differs between the ways" in fails(other_type, 1.0)

    def in_the_condition(x):
        a = Account(x * 1.0)
        while a.less() > 0.5:
            x = x + 1
        return x

    assert "the condition of the loop" in fails(in_the_condition, 9.0)

    def of_the_class(x):
        if x > 0:
            Account.rate = x
        return x

    assert "set a local variable there" in fails(of_the_class, 1.0)


TOTAL = 0.0


def test_what_other_functions_hold():
    def assigns_a_global(x):
        global TOTAL
        if x > 0:
            TOTAL = x
        return TOTAL

    assert "assigns to the global variable `TOTAL`: return the value instead" in fails(assigns_a_global, 1.0)
    history = []

    def appends(x):
        while x > 1:
            x = x / 2
            history.append(x)
        return x

    assert "`history` belongs to a function around this one" in fails(appends, 9.0)

    def stores_inside(x):
        table = {"row": [0.0]}
        if x > 0:
            table["row"][0] = 5.0
        return table["row"][0] + x

    assert "`table['row']`, a list inside another object, is changed in a branch" in fails(stores_inside, -1.0)

    def appends_inside(x):
        table = {"row": [0.0]}
        if x > 0:
            table["row"].append(5.0)
        return len(table["row"]) + x

    assert "part = table['row']; part[…] = …; table['row'] = part" in fails(appends_inside, -1.0)

    def puts_back(x):
        table = {"row": [0.0]}
        if x > 0:
            row = table["row"]
            row[0] = 5.0
            table["row"] = row
        return table["row"][0] + x

    assert xla.compile(puts_back)(-1.0) == -1.0 and xla.compile(puts_back)(1.0) == 6.0

    def assigns_an_item(x):
        values = [x, x]

        def inner():
            if x > 0:
                values[0] = 1.0

        inner()
        return values[0]

    assert "give it as an argument and return it" in fails(assigns_an_item, 1.0)

    def assigns_a_variable(x):
        total = 0.0

        def inner(y):
            nonlocal total
            if y > 2:
                total = total + y

        for i in range(4):
            inner(x * i)
        return total

    np.testing.assert_allclose(xla.compile(assigns_a_variable)(1.5), assigns_a_variable(1.5))


def raises_at_once(x):
    if x < 0:
        raise ValueError("negative")
    return np.sqrt(x)


def raises_in_a_chain(x):
    if x < 0:
        raise ValueError("negative")
    elif x > 100:
        raise OverflowError
    else:
        y = x + 1
    return y * 2


def raises_in_a_loop(x):
    while True:
        x = x * 2 + 1
        if x < -50:
            raise ValueError("diverges") from None
        if x > 100:
            return x


def raises_in_a_called_function(x):
    total = 0.0
    for i in range(3):
        total = total + raises_at_once(x - i)
    return total


def raises_after_a_branch(x):
    if x > 0:
        x = x * 3
    if x > 200:
        x = x + 1
        raise KeyError("large")
    return x


def raises_on_no_traced_condition(x):
    if np.ndim(x) == 7:
        raise TypeError("seven dimensions")
    while x > 1:
        if np.ndim(x) == 8:
            raise TypeError("eight dimensions")
        x = x / 2
    return x


@pytest.mark.parametrize("x", [-30.0, 2.0, 1.0, 150.0])
@pytest.mark.parametrize(
    "function",
    [
        raises_at_once,
        raises_in_a_chain,
        raises_in_a_loop,
        raises_in_a_called_function,
        raises_after_a_branch,
        raises_on_no_traced_condition,
    ],
)
def test_raise_under_traced_conditions(function, x):
    compiled = xla.compile(function)
    for _ in range(2):
        try:
            want = function(x)
        except Exception as error:  # pylint: disable=broad-except
            with pytest.raises(type(error)) as caught:
                compiled(x)
            assert str(caught.value) == str(error)
        else:
            np.testing.assert_allclose(compiled(x), want, rtol=1e-12)


def fails(function, *arguments):
    with pytest.raises(xla.Error) as caught:
        xla.compile(function)(*map(np.asarray, arguments))
    return str(caught.value)


def test_shape_that_changes_in_a_loop():
    def f(x):
        y = np.sin(x)
        while y.sum() < 10:
            y = np.concatenate([y, y])
        return y

    assert "`y` is float64[3] when the loop at line" in fails(f, np.ones(3))


def test_type_that_changes_in_a_loop():
    def f(x, n):
        y = np.sin(x)
        while n > 0:
            y = y * np.float64(2) + n
            n = n - 1
        return y

    message = fails(f, np.ones(3, np.float32), 3.0)
    assert "`y` is float32[3]" in message and "float64[3]" in message


def test_value_of_one_way_only():
    def f(x):
        if x > 0:
            y = x
        return y + 1

    assert "`y` has a value on only one way through the branch at line" in fails(f, 1.0)


def test_value_of_the_loop_only():
    def f(x):
        while x < 3:
            y = x
            x = x + 1
        return y * 2

    assert "`y` gets its first value inside of the loop at line" in fails(f, 1.0)


def test_structures_that_differ():
    def f(x):
        if x > 0:
            y = (x, x)
        else:
            y = x
        return y + x

    assert "`y` differs in structure between the ways" in fails(f, 1.0)


def test_a_result_on_one_way_only():
    def f(x):
        if x > 0:
            return x

    assert "what the function returns differs" in fails(lambda x: f(x) + 1, 1.0)


def test_condition_that_is_an_array():
    def f(x):
        if x > 0:
            return x
        return -x

    assert "use .any() or .all()" in fails(f, np.ones(3))


def test_jump_out_of_try():
    def f(x):
        for _ in range(3):
            try:
                if x > 0:
                    break
            finally:
                x = x + 1
        return x

    assert "inside of try" in fails(f, 1.0)

    def raises(x):
        try:
            if x > 0:
                raise ValueError
        except ValueError:
            x = -x
        return x

    assert "return or raise inside of try" in fails(raises, 1.0)

    def turns_one_error_into_another(x):
        try:
            y = {"a": x}["a"]
        except KeyError as error:
            raise ValueError("no a") from error
        return y if x > 0 else -y

    assert xla.compile(turns_one_error_into_another)(-2.0) == 2


def test_no_source():
    scope = {}
    exec("def f(x):\n    return x if x > 0 else -x", scope)
    assert "cannot be converted" in fails(scope["f"], 1.0)
