"""Sizes that keep changing: which dimensions of a function's arguments vary, and one code for all of their sizes."""

import itertools
import threading

from . import _core, _load

# Signatures that differ in sizes alone before code for all sizes is made.
FEW = 3
# Of programs that are the same but for numbers, sizes say best what may differ if they are prime and unlike each other.
# The first sample decides the form of the code.
SCALES = (131, 500, 3, 64)
SAMPLES = 5  # where sizes follow from each other
APART = (41, 41, 0, 0)  # so that what strides make of two sizes is unlike, too
# Samples that failed are tried again with twice as many signatures, which say more about what varies with what.
MOST_ATTEMPTS = 3
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


# Sizes to compile a size without an end for: pieces of all others, the last one to see whether it is the same program.
PIECES = [*range(1, 33), *(2**i for i in range(6, 13)), 1 << 16]
SAMPLES_OF_ANY = [139, 523, 3, 128, 12]  # code is made of


def with_any_size(signatures, dims, size):
    """The signatures with `size` in dimension dims[i] of array i, if that is not None."""
    if len(dims) != len(signatures):
        raise ValueError(
            f"any_size= is without also=, and has a dimension or None for each of {len(signatures)} arrays"
        )
    changed = []
    for i, (signature, dim) in enumerate(zip(signatures, dims)):
        if dim is None:
            changed.append(signature)
            continue
        shape = () if isinstance(signature, type) else signature[1]
        if not 0 <= dim < len(shape):
            raise ValueError(f"any_size: array {i} has the shape {shape}, and no dimension {dim}")
        changed.append((signature[0], (*shape[:dim], size, *shape[dim + 1 :])))
    return tuple(changed)


def _is_prime(n):
    return n > 1 and all(n % d for d in range(2, int(n**0.5) + 1))


class Group:
    """Signatures of one function that differ in sizes alone."""

    def __init__(self, few):
        self._few = few
        self._lock = threading.Lock()
        self._seen = []  # sizes of the first signatures
        self._code = None  # a _core.GeneralCode; False: there is none
        self._needed, self._attempts = few, 0

    def code(self, signatures, traced, trace_of, options):
        """The code that may serve a new signature, of which `traced` is the program; None as long as there is none. It is
        not compiled yet. `trace_of` traces the function for other signatures."""
        with self._lock:
            if self._code is None and _sizes(signatures) not in self._seen:
                self._seen.append(_sizes(signatures))
                if len(self._seen) >= self._needed and any(self._varies()):
                    self._attempts += 1
                    self._needed *= 2
                    self._code = self._start(signatures, traced, trace_of, options)
                    if self._code is None and (self._attempts == MOST_ATTEMPTS or self._few == 1):
                        self._code = False
            return self._code or None

    def _varies(self):
        first = self._seen[0]
        if self._few == 1:
            return [n > 1 for n in first]
        return [any(seen[i] != n for seen in self._seen) for i, n in enumerate(first)]

    def _start(self, signatures, traced, trace_of, options):
        samples = self._some_samples(signatures, traced, trace_of)
        if not samples:
            return None
        _load.open_library()
        return _core.GeneralCode([sample.hlo.encode() for sample in samples], options)

    def _some_samples(self, signatures, traced, trace_of):
        """Programs to make code from, in the first way in which there are some; empty if there is none."""
        for limited in (False, True):
            try:
                samples = self._samples(signatures, traced, trace_of, limited)
            except Exception:  # it is for other sizes that the function cannot be traced; calls of those will say so
                continue
            if samples:
                return samples
        return self._related(signatures, traced, trace_of)

    def _related(self, signatures, traced, trace_of):
        """The same for sizes that follow from each other as in all signatures: halves, differences, products."""
        if len(self._seen) < 2:
            return []
        _load.open_library()
        tried = set()
        for way in itertools.count():
            try:
                sizes = [_core.GeneralCode.sample_sizes(self._seen, which, way) for which in range(SAMPLES)]
            except IndexError:
                return []
            sizes = [s for s in itertools.takewhile(lambda s: s is not None, sizes)]
            if len(sizes) < 2 or tuple(sizes[0]) in tried:
                continue
            tried.add(tuple(sizes[0]))
            try:
                samples = self._traced(sizes, signatures, traced, trace_of)
            except Exception:  # such sizes do not go together
                continue
            if samples:
                return samples

    def _samples(self, signatures, traced, trace_of, limited):
        """Programs for sizes to try it out with; none if they are other programs than `traced`."""
        sizes = [self._sample(which, limited) for which in range(len(SCALES))]
        return self._traced(itertools.takewhile(lambda s: s is not None, sizes), signatures, traced, trace_of)

    @staticmethod
    def _traced(all_sizes, signatures, traced, trace_of):
        lines = traced.hlo.count("\n")
        samples = []
        for sizes in all_sizes:
            sample = trace_of(_with_sizes(signatures, sizes))
            # Loops of Python's over a size make another program of each: they end here, before they are large.
            if sample.hlo.count("\n") != lines:
                break
            samples.append(sample)
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


def samples_of(all_signatures, traced, trace_of):
    """Programs to make code from for all of these signatures, which differ in sizes alone; `traced` is that of the first.
    Empty if there are none."""
    group = Group(2)
    group._seen = [_sizes(signatures) for signatures in all_signatures]
    return group._some_samples(all_signatures[0], traced, trace_of)
