"""Sizes that keep changing: which dimensions of a function's arguments vary, and one code for all of their sizes."""

import threading

from . import _core, _load

# Signatures that differ in sizes alone before code for all sizes is made.
FEW = 3
# Of programs that are the same but for numbers, sizes say best what may differ if they are prime and unlike each other.
# The first sample decides the form of the code.
SCALES = (131, 500, 3, 64)
APART = (41, 41, 0, 0)  # so that what strides make of two sizes is unlike, too
# With these options a program of its own is wanted for each signature.
OWN_CODE = ("dump_to", "keep_texts", "until_pass")


def wanted(dynamic, options):
    """After how many signatures code for all sizes is made; 0 for never."""
    if dynamic is not None and not isinstance(dynamic, bool):
        raise TypeError(f"dynamic is True, False or None, not {dynamic!r}")
    if dynamic:
        return 1
    own = any(name in OWN_CODE for name in options or {})
    return 0 if dynamic is False or own else FEW


def group_key(key):
    """What the signatures of one group have in common; sizes of 0 and 1 are others, which programs treat in their own way."""
    static, structure, signatures = key
    of_leaf = lambda s: s if isinstance(s, type) else (s[0], tuple(n if n <= 1 else None for n in s[1]))
    return static, structure, tuple(map(of_leaf, signatures))


def _sizes(signatures):
    return [n for s in signatures if not isinstance(s, type) for n in s[1]]


def _with_sizes(signatures, sizes):
    rest = iter(sizes)
    return tuple(s if isinstance(s, type) else (s[0], tuple(next(rest) for _ in s[1])) for s in signatures)


def _is_prime(n):
    return n > 1 and all(n % d for d in range(2, int(n**0.5) + 1))


class Group:
    """Signatures of one function that differ in sizes alone."""

    def __init__(self, few):
        self._few = few
        self._lock = threading.Lock()
        self._seen = []  # sizes of the first signatures
        self._code = None  # a _core.GeneralCode; False: there is none

    def code(self, signatures, traced, trace_of, options):
        """The code that may serve a new signature, of which `traced` is the program; None as long as there is none. It is
        not compiled yet. `trace_of` traces the function for other signatures."""
        with self._lock:
            if self._code is None and _sizes(signatures) not in self._seen:
                self._seen.append(_sizes(signatures))
                if len(self._seen) >= self._few and any(self._varies()):
                    self._code = self._start(signatures, traced, trace_of, options) or False
            return self._code or None

    def _varies(self):
        first = self._seen[0]
        if self._few == 1:
            return [n > 1 for n in first]
        return [any(seen[i] != n for seen in self._seen) for i, n in enumerate(first)]

    def _start(self, signatures, traced, trace_of, options):
        for limited in (False, True):
            try:
                samples = self._samples(signatures, traced, trace_of, limited)
            except Exception:  # it is for other sizes that the function cannot be traced; calls of those will say so
                continue
            if samples:
                _load.open_library()
                return _core.GeneralCode(samples, options)
        return None

    def _samples(self, signatures, traced, trace_of, limited):
        """Programs for sizes to try it out with; none if they are other programs than `traced`."""
        lines = traced.hlo.count("\n")
        samples = []
        for which in range(len(SCALES)):
            sizes = self._sample(which, limited)
            if sizes is None:
                break
            sample = trace_of(_with_sizes(signatures, sizes))
            # Loops of Python's over a size make another program of each: they end here, before they are large.
            if sample.hlo.count("\n") != lines:
                break
            samples.append(sample.hlo.encode())
        return samples if len(samples) > 1 else []

    def _sample(self, which, limited):
        """Sizes of sample number `which`: another one for each class of sizes that were always equal."""
        columns = list(zip(*self._seen))
        varies = self._varies()
        taken = {n for n, v in zip(self._seen[0], varies) if not v}
        chosen = {}
        for column, v in zip(columns, varies):
            if not v or column in chosen:
                continue
            if limited:
                # Not above what was seen: functions may have limits, such as a table of positions.
                top = max(column) * (4 - which) // 4
                candidates = range(top, 1, -1)
            else:
                candidates = range(SCALES[which] + APART[which] * len(chosen), 100 * SCALES[which])
            fits = (n for n in candidates if n not in taken and (which == 3 or _is_prime(n)))
            size = next(fits, None)
            if size is None:
                return None
            chosen[column] = size
            taken.add(size)
        return [chosen[c] if v else n for c, v, n in zip(columns, varies, self._seen[0])]
