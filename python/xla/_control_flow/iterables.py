"""What loops go over when the number of iterations or the items are traced: ranges, arrays along their first axis, and
enumerate, zip and reversed of these."""

import numpy as np

from .._tracer import Tracer, tracer_of


class Items:
    """`count` items; `item(i)` gives one for i traced or not."""

    def __init__(self, count, item):
        self.count, self.item = count, item

    def __iter__(self):
        return (self.item(i) for i in range(self.count))

    def __len__(self):
        return self.count


def traced_range(*args):
    """range() of arguments of which one is traced at least."""
    start, stop, step = (0, *args, 1) if len(args) == 1 else (args if len(args) == 3 else (*args, 1))
    for number in (start, stop, step):
        if not np.issubdtype(np.asarray(number).dtype if not isinstance(number, Tracer) else number.dtype, np.integer):
            raise TypeError(f"range() needs integers, not {number!r}")
        if isinstance(number, Tracer) and number.shape != ():
            raise TypeError(f"range() needs single integers, not an array of shape {number.shape}")
    if not isinstance(step, Tracer) and step == 1:
        iterations = stop - start if isinstance(start, Tracer) or start != 0 else stop
        return Items(iterations, lambda i: start + i if isinstance(start, Tracer) or start != 0 else i)
    if not isinstance(step, Tracer) and step == 0:
        raise ValueError("range() arg 3 must not be zero")
    iterations = -((start - stop) // step)
    return Items(iterations, lambda i: start + i * step)


def items_of(iterated):
    """`Items` of a range or an array; None for anything else, which is gone through as Python does."""
    if isinstance(iterated, Items):
        return iterated
    if isinstance(iterated, range):
        first, step = iterated.start, iterated.step
        return Items(len(iterated), lambda i: first + i * step if (first, step) != (0, 1) else i)
    if isinstance(iterated, Tracer) and iterated.ndim > 0:
        return Items(len(iterated), lambda i: iterated[i])
    if isinstance(iterated, np.ndarray) and iterated.ndim > 0 and iterated.dtype.kind in "biufc":
        return Items(len(iterated), lambda i: _constant_item(iterated, i))
    return None


def _constant_item(array, i):
    return tracer_of(array)[i] if isinstance(i, Tracer) else array[i]


def enumerate_(iterated, start=0):
    items = items_of(iterated)
    if items is None:
        return enumerate(iterated, start)
    return Items(items.count, lambda i: (i + start if isinstance(i, Tracer) or start else i, items.item(i)))


def zip_(*iterated, **kwargs):
    all_items = [items_of(x) for x in iterated]
    if kwargs or not all_items or any(x is None or isinstance(x.count, Tracer) for x in all_items):
        return zip(*iterated, **kwargs)
    return Items(min(x.count for x in all_items), lambda i: tuple(x.item(i) for x in all_items))


def reversed_(iterated):
    items = items_of(iterated)
    if items is None:
        return reversed(iterated)
    return Items(items.count, lambda i: items.item(items.count - 1 - i))
