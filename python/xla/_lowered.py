"""A function lowered for one signature, and all that can be looked at: HLO, LLVM IR, assembly, costs, a drawing, a bundle."""

import os
import subprocess
import tempfile
from dataclasses import dataclass

import numpy as np

from . import _core, _deploy, _load


def compile_text(traced, options, general=None):
    """The executable of a traced function; `general`: code for all sizes, which may serve it."""
    _load.open_library()
    return _core.Executable(traced.hlo.encode(), options, traced.out_dtypes, traced.hoisted, traced.aliases, general)


@dataclass(frozen=True)
class FusionCost:
    """What one instruction of the optimized program, mostly a fusion, costs."""

    name: str
    opcode: str
    flops: int
    transcendentals: int
    bytes_read: int
    bytes_written: int


@dataclass(frozen=True)
class Cost:
    """What one run costs: floating-point operations (a multiply-add is two), calls of exp and the like, bytes read and
    written, bytes of temporary memory and of code, and the parts."""

    flops: int
    transcendentals: int
    bytes_read: int
    bytes_written: int
    temp_bytes: int
    code_bytes: int
    parts: tuple
    evaluated: tuple = ()  # instructions that no code was made for, "OPCODE NAME: why": they are evaluated, slowly

    def __str__(self):
        head = (
            f"{self.flops:,} FLOPs, {self.transcendentals:,} transcendentals, {self.bytes_read:,} bytes read, "
            f"{self.bytes_written:,} bytes written, {self.temp_bytes:,} bytes of temporary memory"
        )
        rows = [
            f"{p.name:<32} {p.flops:>14,} {p.transcendentals:>12,} {p.bytes_read + p.bytes_written:>14,}"
            for p in self.parts
        ]
        slow = [f"evaluated, without code: {line}" for line in self.evaluated]
        return "\n".join([head, f"{'instruction':<32} {'FLOPs':>14} {'exp, …':>12} {'bytes':>14}", *rows, *slow])


class Lowered:
    """What `f.lower(*args)` gives. Compiled when something asks for more than the HLO.

    >>> import xla
    >>> low = xla.compile(lambda x: np.sin(x) + 1).lower(np.zeros(8))
    >>> low.cost().flops > 0
    True
    """

    def __init__(self, name, traced, options, leaves):
        self._name, self._traced, self._options, self._leaves = name, traced, options, leaves
        self._executable = None

    def __repr__(self):
        return f"<{self._name} lowered to {self._traced.hlo.count(' = ')} instructions>"

    def _compiled(self):
        if self._executable is None:
            self._executable = compile_text(self._traced, self._options + "\nkeep_texts=1")
        return self._executable

    def hlo(self):
        """The HLO text before any pass, with the user's file and line at each instruction.

        >>> xla.compile(np.sin).lower(np.zeros(8)).hlo().splitlines()[0]
        'HloModule sin'
        """
        return self._traced.hlo

    def optimized_hlo(self):
        """The HLO text after all passes.

        >>> "ENTRY" in xla.compile(np.sin).lower(np.zeros(8)).optimized_hlo()
        True
        """
        return self._compiled().text("optimized_hlo")

    def llvm_ir(self):
        """The LLVM IR of the program, a text, before LLVM's own passes.

        >>> "define" in xla.compile(np.sin).lower(np.zeros(8)).llvm_ir()
        True
        """
        return self._compiled().text("llvm_ir")

    def asm(self):
        """The assembly of the program, a text.

        >>> "ret" in xla.compile(np.sin).lower(np.zeros(8)).asm()
        True
        """
        return self._compiled().text("asm")

    def buffers(self):
        """The report of buffer assignment, a text: the arena, and which values share memory.

        >>> "arena" in xla.compile(np.sin).lower(np.zeros(8)).buffers()
        True
        """
        return self._compiled().text("buffer_assignment")

    def cost(self):
        """What a run costs, in all and for each instruction of the optimized program: a Cost.

        >>> cost = xla.compile(np.exp).lower(np.zeros(8)).cost()
        >>> cost.transcendentals, cost.evaluated
        (8, ())
        """
        parts = []
        for line in self._compiled().text("cost").splitlines():
            name, opcode, *numbers = line.split(" ")
            parts.append(FusionCost(name, opcode, *map(int, numbers)))
        total = [sum(getattr(p, f) for p in parts) for f in ("flops", "transcendentals", "bytes_read", "bytes_written")]
        executable = self._compiled()
        evaluated = tuple(executable.text("evaluated").splitlines())
        return Cost(*total, executable.temp_bytes, executable.code_bytes, tuple(parts), evaluated)

    def view(self, optimized=True):
        """A drawing of the program before or after all passes as an HTML page, a View; notebooks show it.

        >>> page = xla.compile(np.sin).lower(np.zeros(8)).view()
        >>> "<html" in str(page).lower()
        True
        """
        with tempfile.TemporaryDirectory() as folder:
            source, page = os.path.join(folder, "module.hlo"), os.path.join(folder, "module.html")
            with open(source, "w", encoding="utf-8") as file:
                file.write(self.optimized_hlo() if optimized else self.hlo())
            done = subprocess.run([_load.TOOL, "view", source, "-o", page], capture_output=True, text=True)
            if done.returncode:
                raise RuntimeError(f"the drawing failed: {done.stderr.strip()}")
            with open(page, encoding="utf-8") as file:
                return View(file.read())

    def profile(self, threads=0, runs=5):
        """Where the time of a run goes, a Profile: for each kernel, library call and loop time, FLOPs, bytes and what is
        achieved of this machine's ceilings. Another process compiles the program and runs it `runs` times.

        >>> profile = xla.compile(np.sin).lower(np.zeros(8)).profile()
        >>> profile.sites[0]["kind"]
        'kernel'
        """
        return _deploy.profile(self, threads, runs)

    def export(self, path, cpu=()):
        """Compiles the program ahead of time to the file `path`, which xla.load and libxcrt run. `cpu` names the
        processors to have code for, of x86-64-v2, x86-64-v3 and x86-64-v4 (default: the best that this machine is).

        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = os.path.join(folder, "sin.xcp")
        ...     xla.compile(np.sin).lower(np.zeros(8)).export(path, cpu=["x86-64-v2"])
        ...     os.listdir(folder)
        ['sin.xcp']
        """
        _deploy.export([self._program()], [], path, cpu)

    def _program(self):
        return self._traced.hlo, self._traced.hoisted, len(self._leaves)

    def _repr_html_(self):
        return self.view()._repr_html_()

    def dump(self, directory):
        """Writes a bundle that `xla replay` takes into the folder `directory`, which is made: the module before and
        after each pass, options, and the arguments.

        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     xla.compile(np.sin).lower(np.zeros(8)).dump(folder)
        ...     "module.hlo" in os.listdir(folder)
        True
        """
        compile_text(self._traced, f"{self._options}\nkeep_texts=1\ndump_to={directory}")
        inputs = os.path.join(directory, "inputs")
        os.makedirs(inputs, exist_ok=True)
        for i, leaf in enumerate([*self._leaves, *self._traced.hoisted]):
            array = np.asarray(leaf)
            if array.dtype.kind == "V":
                array = array.view(np.dtype(f"u{array.dtype.itemsize}"))
            np.save(os.path.join(inputs, f"{i}.npy"), np.ascontiguousarray(array) if array.ndim else array)


class View:
    """An HTML page: `str(view)` is its text, notebooks show it."""

    def __init__(self, page):
        self._page = page

    def __str__(self):
        return self._page

    def save(self, path):
        """Writes the page to the file `path`.

        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     xla.compile(np.sin).lower(np.zeros(8)).view().save(os.path.join(folder, "page.html"))
        ...     os.listdir(folder)
        ['page.html']
        """
        with open(path, "w", encoding="utf-8") as file:
            file.write(self._page)

    def _repr_html_(self):
        import html

        return f'<iframe srcdoc="{html.escape(self._page)}" width="100%" height="600" frameborder="0"></iframe>'
