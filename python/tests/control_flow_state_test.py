"""Attributes, global variables and containers changed in branches and loops on traced values."""

import numpy as np
import pytest

import xla
from refusals import fails


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
