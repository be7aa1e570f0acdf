"""Errors under traced conditions: what a function raises, and what is said of one that cannot be converted."""

import os
import subprocess
import sys

import numpy as np
import pytest

import xla
from refusals import fails


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


BRANCH = """
import xla

def f(x):
    return x if x > 0 else -x

try:
    xla.compile(f)(1.0)
except xla.ConcretizationError as error:
    print(error)
"""
WITHOUT_SOURCE = (
    "the control flow of f cannot be converted: its source cannot be read, because it was typed at a prompt, read from "
    "standard input, or given to python -c or exec; define it in a file and import that. As it stands, bool() of a traced "
)


@pytest.mark.parametrize(
    "how, arguments, place",
    [
        ("standard input", ["-"], "<stdin>:5: "),
        ("command line", ["-c", BRANCH], "<string>:5: "),
        ("prompt", ["-i", "-q"], "<stdin>:2: "),
    ],
)
def test_functions_without_a_source_say_so_first(how, arguments, place):
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
    # At a prompt each statement is compiled by itself, and ends with an empty line.
    text = BRANCH.replace("\ntry", "\n\ntry") if how == "prompt" else BRANCH
    done = subprocess.run(
        [sys.executable, *arguments], input=text + "\n", capture_output=True, text=True, env=environment, timeout=120
    )
    assert done.stdout.startswith(place + WITHOUT_SOURCE), done.stdout + done.stderr


def test_functions_without_a_source_in_ones_that_have_one():
    scope = {}
    exec("def f(x):\n    return x if x > 0 else -x", scope)

    def outer(x):
        if x > 3:
            x = x + 1
        return scope["f"](x)

    for function in (scope["f"], outer):
        assert fails(function, 1.0).startswith("<string>:2: " + WITHOUT_SOURCE)


def test_a_value_stored_into_an_array_of_numpy():
    """NumPy makes an error of its own of what the traced value says; the package's is told, with the place."""
    plain = np.zeros(3)

    def stores(x):
        plain[0] = x
        return x

    with pytest.raises(xla.NumPyStoreError, match=r"control_flow_errors_test\.py:\d+: .*np\.zeros_like"):
        xla.compile(stores)(1.0)
