"""Messages for functions and arguments that cannot be compiled: the user's file and line, and what to write instead."""

import re

import numpy as np
import pytest

import xla

HERE = r"errors_test\.py:\d+: "


def refused(kind, message, function, *arguments, **options):
    with pytest.raises(kind, match=HERE + ".*" + message):
        xla.compile(function, **options)(*arguments)


def test_the_line_is_the_users_own():
    def f(x):
        y = x + 1
        return y.item()

    with pytest.raises(xla.ConcretizationError) as error:
        xla.compile(f)(np.ones(()))
    line = f.__code__.co_firstlineno + 2
    assert re.search(rf"errors_test\.py:{line}: \.item\(\) asks", str(error.value))
    assert "use the array itself" in str(error.value)


def test_what_is_wrong_with_a_result_is_said_of_the_function():
    def chosen(x):
        y = x + 1
        return x[y > 0]

    def text(x):
        return "text"

    for f, kind, lines in ((chosen, xla.DataDependentShapeError, 2), (text, xla.ObjectArrayError, 0)):
        with pytest.raises(kind, match=rf"errors_test\.py:{f.__code__.co_firstlineno + lines}: "):
            xla.compile(f)(np.ones(3))


def test_python_numbers_of_traced_values():
    x = np.ones(())
    refused(xla.ConcretizationError, r"int\(\) asks .*x\.astype\(int\)", lambda x: list(map(int, [x])), x)
    refused(xla.ConcretizationError, r"float\(\) asks .*x\.astype\(float\)", lambda x: list(map(float, [x])), x)
    refused(xla.ConcretizationError, r"complex\(\) asks .*x\.astype\(complex\)", lambda x: list(map(complex, [x])), x)
    refused(xla.ConcretizationError, r"\.item\(\) asks .*use the array itself", lambda x: x.item(), x)
    refused(xla.ConcretizationError, r"\.tolist\(\) asks ", lambda x: x.tolist(), x)
    refused(xla.ConcretizationError, r"format\(\) asks .*print the result", lambda x: f"{x:.3f}", x)
    refused(xla.ConcretizationError, r"a size, a range .*static_argnames", lambda x, n: x + [1, 2][n], x, 1)


def test_data_dependent_shapes():
    x = np.arange(4.0)
    refused(xla.DataDependentShapeError, r"the shape of x\[mask\] .*np\.where\(mask, x, other\)", lambda x: x[x > 1], x)
    refused(
        xla.DataDependentShapeError, r"np\.where\(condition\) alone .*condition, x, y", lambda x: np.where(x > 1), x
    )
    refused(xla.DataDependentShapeError, r"traced bounds .*dynamic_slice", lambda x, n: x[:n], x, 2)

    def store(x, y):
        z = x.copy()
        z[x > 1] = y
        return z

    refused(xla.DataDependentShapeError, r"how many elements .*np\.where\(mask, values, x\)", store, x, np.ones(2))


def test_writes_into_arguments():
    def whole(x):
        x[...] = 0
        return x

    def part(x):
        row = x[1]
        row += 1
        return x

    def out(x):
        return np.exp(x, out=x)

    def sort(x):
        x.sort()
        return x

    for f in (whole, part, out, sort):
        refused(xla.InPlaceError, rf"a write into an argument of {f.__name__}: .*x = x\.copy\(\)", f, np.ones((2, 3)))


def test_views_that_cannot_be_written():
    def f(x):
        y = np.broadcast_to(x.copy(), (2, 3))
        y[0] = 1
        return y

    refused(xla.InPlaceError, r"the result of np\.broadcast_to cannot be written; write to a copy", f, np.ones(3))


def test_arguments_that_are_not_numbers():
    objects = np.array([1, "a", None], object)
    refused(xla.ObjectArrayError, r"arrays of type object cannot be compiled: give numbers", lambda x: x, objects)
    refused(xla.ObjectArrayError, r"arrays of type <U1 cannot", lambda x: x, np.array(["a"]))
    refused(xla.ObjectArrayError, r"arrays of type datetime64", lambda x: x, np.array(["2020"], "M8[D]"))
    refused(
        xla.ObjectArrayError, r"is a str, which cannot be compiled.*static_argnums", lambda x, s: x, np.ones(2), "s"
    )
    refused(xla.ObjectArrayError, r"is a object, which", lambda x: x, object())
    refused(xla.UnsupportedError, r"arrays of type float128 cannot", lambda x: x, np.ones(2, np.longdouble))
    refused(xla.ObjectArrayError, r"returns a str; compiled functions return arrays", lambda x: "text", np.ones(2))


def test_leaked_tracers():
    kept = []

    @xla.compile
    def keep(x):
        kept.append(x * 2)
        return x

    keep(np.ones(3))
    with pytest.raises(xla.LeakedTracerError, match=HERE + "a traced value is used outside .*return it"):
        kept[0] + 1
    refused(xla.LeakedTracerError, "a traced value is used outside of the trace", lambda x: x + kept[0], np.ones(3))
    with pytest.raises(xla.LeakedTracerError, match=HERE + "an argument of keep is a traced value of another"):
        keep(kept[0])


def test_static_arguments():
    f = lambda x, n: x
    refused(
        xla.StaticArgumentError,
        r"argument 1 of <lambda> is static and must be hashable, but a list is not; give a tuple",
        f,
        np.ones(2),
        [1],
        static_argnums=1,
    )
    refused(xla.StaticArgumentError, r"argument 1 .* a ndarray is not", f, np.ones(2), np.ones(1), static_argnames="n")
    with pytest.raises(xla.StaticArgumentError, match=r"argument 'n' .* a dict is not"):
        xla.compile(f, static_argnames="n")(np.ones(2), n={})


def test_donation():
    f = lambda x, y: x + y
    refused(
        xla.DonationError,
        r"array 0 of <lambda> is donated, but no result has its type and shape f64\[1,3\]",
        f,
        np.ones((1, 3)),
        np.ones((2, 1)),
        donate_argnums=0,
    )
    refused(xla.DonationError, r"array 0 .* is a number", f, 1.0, np.ones(2), donate_argnums=0)
    x = np.ones(3)
    refused(
        xla.DonationError,
        r"argument 0 is donated, but shares memory with argument 1; donate a copy",
        f,
        x,
        x,
        donate_argnums=0,
    )
    refused(
        xla.DonationError, r"argument 0 is donated, but is not C-contiguous", f, np.ones(6)[::2], x, donate_argnums=0
    )
    fixed = np.ones(3)
    fixed.flags.writeable = False
    refused(
        xla.DonationError,
        r"argument 0 is donated, but may not be written; donate a copy",
        f,
        fixed,
        x,
        donate_argnums=0,
    )
    with pytest.raises(xla.DonationError, match=HERE + "argument 0 is both static and donated"):
        xla.compile(f, static_argnums=0, donate_argnums=0)
    with pytest.raises(xla.DonationError, match="is donated, but only 1 arguments are given by position"):
        xla.compile(f, donate_argnums=1)(np.ones(2), y=np.ones(2))


def test_donation_errors_of_later_calls():
    f = xla.compile(lambda x, y: x + y, donate_argnums=0)
    f(np.ones(3), np.ones(3))
    x = np.ones(3)
    with pytest.raises(xla.DonationError, match=HERE + "argument 0 is donated, but shares memory"):
        f(x, x)


def test_indices():
    x = np.arange(4.0)
    for index, message in ((4, r"index 4 is out of bounds for axis with size 4"), ((0, 0), r"too many indices")):
        with pytest.raises(IndexError, match=HERE + message):
            xla.compile(lambda x: x[index])(x)
    with pytest.raises(IndexError, match=HERE + "arrays used as indices must be of integer"):
        xla.compile(lambda x, i: x[i])(x, np.ones(2))


def test_unsupported_functions_and_options():
    refused(
        xla.UnsupportedError,
        r"numpy\.busday_count is not compiled|numpy\.\w+ is not compiled",
        lambda x: np.apply_over_axes(np.sum, x, [0]) if False else np.datetime_as_string(x),
        np.ones(2),
    )
    with pytest.raises(ValueError, match="platform|backend"):
        xla.compile(lambda x: x, platform="abacus")(np.ones(2))
    with pytest.raises(ValueError, match="there is no option 'speed'"):
        xla.compile(lambda x: x, options={"speed": 11})(np.ones(2))
    with pytest.raises(TypeError, match="takes a function, not a int"):
        xla.compile(3)


def test_errors_of_the_function_itself_pass_through():
    def f(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        xla.compile(f)(np.ones(2))
    compiled = xla.compile(lambda x: x * 2)
    np.testing.assert_array_equal(compiled(np.ones(2)), [2, 2])


def test_writes_into_arrays_of_numpy():
    """They would be lost: the array is NumPy's, and what is written is known only when the program runs."""
    plain, x = np.zeros(3), np.ones(3)
    writes = {
        "copyto": lambda x: np.copyto(plain, x),
        "place": lambda x: np.place(plain, x > 0, [1]),
        "put": lambda x: np.put(plain, [0, 1, 2], x),
        "putmask": lambda x: np.putmask(plain, x > 0, x),
        "put_along_axis": lambda x: np.put_along_axis(plain, np.array([1]), x[:1], 0),
    }
    for name, write in writes.items():
        refused(xla.NumPyStoreError, rf"np\.{name} writes traced values into a ndarray .*zeros_like", write, x)
    assert not plain.any()


def test_values_that_cannot_be_cast():
    bytes_ = np.zeros(3, np.uint8)

    def written(write):
        def f(x, y):
            z = x.copy()
            write(z, y)
            return z

        return xla.compile(f)

    wide = np.ones(3, np.int32)
    for write in (lambda z, y: np.place(z, z < 1, y), lambda z, y: np.putmask(z, z < 1, y), np.copyto):
        with pytest.raises(TypeError, match="Cannot cast array data from dtype.'int32'. to dtype.'uint8'."):
            written(write)(bytes_, wide)
    for write in (lambda z, y: np.put(z, 0, [300]), lambda z, y: np.copyto(z, -1)):
        with pytest.raises(OverflowError, match="out of bounds for uint8"):
            written(write)(bytes_, wide)
    with pytest.raises(OverflowError, match="300 out of bounds for uint8"):
        xla.compile(lambda x: np.clip(x, 300, None))(bytes_)
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'a_max'"):
        xla.compile(lambda x: np.clip(x, 0))(bytes_)
