"""Types of what `f.lower(*args)` gives."""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike

from ._deploy import Profile

@dataclass(frozen=True)
class FusionCost:
    name: str
    opcode: str
    flops: int
    transcendentals: int
    bytes_read: int
    bytes_written: int

@dataclass(frozen=True)
class Cost:
    flops: int
    transcendentals: int
    bytes_read: int
    bytes_written: int
    temp_bytes: int
    code_bytes: int
    parts: tuple[FusionCost, ...]
    evaluated: tuple[str, ...]

class Lowered:
    def hlo(self) -> str: ...
    def optimized_hlo(self) -> str: ...
    def llvm_ir(self) -> str: ...
    def asm(self) -> str: ...
    def buffers(self) -> str: ...
    def cost(self) -> Cost: ...
    def view(self, optimized: bool = ...) -> View: ...
    def dump(self, directory: str | PathLike[str]) -> None: ...
    def profile(self, threads: int = ..., runs: int = ...) -> Profile: ...
    def export(self, path: str | PathLike[str], cpu: str | Sequence[str] = ...) -> None: ...
    def _repr_html_(self) -> str: ...

class View:
    def save(self, path: str | PathLike[str]) -> None: ...
    def _repr_html_(self) -> str: ...
