"""Types of xla.tf."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from os import PathLike
from typing import Any, Literal

class Error(ValueError): ...

@dataclass(frozen=True)
class Stats:
    graphs: int
    clusters: int
    launches: int
    host_runs: int
    compilations: int
    failures: int
    ops: int
    clustered_ops: int
    given_back: int
    launch_arguments: int
    launch_seconds: float
    compiled_seconds: float
    compile_seconds: float
    pending_compilations: int
    shared_launches: int
    own_codes: int

class Profile:
    trace: str
    def save(self, path: str | PathLike[str]) -> None: ...

def load(path: str) -> None: ...
def configure(**values: Any) -> None: ...
def enable() -> None: ...
def disable() -> None: ...
def settings() -> dict[str, str]: ...
def stats() -> Stats: ...
def wait(seconds: float = ...) -> bool: ...
def profile() -> AbstractContextManager[Profile]: ...
def report(format: Literal["text", "html"] = ...) -> str: ...
