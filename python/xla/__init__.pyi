"""xla: compiles functions of NumPy arrays."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, Generic, NamedTuple, ParamSpec, TypeVar, overload

from . import lax as lax, nn as nn, tf as tf
from ._deploy import (
    Profile as Profile,
    Program as Program,
    get_include as get_include,
    load as load,
)
from ._errors import (
    ConcretizationError as ConcretizationError,
    ControlFlowError as ControlFlowError,
    DataDependentShapeError as DataDependentShapeError,
    DonationError as DonationError,
    Error as Error,
    InPlaceError as InPlaceError,
    LeakedTracerError as LeakedTracerError,
    NumPyStoreError as NumPyStoreError,
    ObjectArrayError as ObjectArrayError,
    StaticArgumentError as StaticArgumentError,
    TracingError as TracingError,
    UnsupportedError as UnsupportedError,
)
from ._lowered import Cost as Cost, FusionCost as FusionCost, Lowered as Lowered
from ._load import (
    cache_clear as cache_clear,
    cache_set_budget as cache_set_budget,
    cache_stats as cache_stats,
)
from ._notices import (
    FrozenRandomWarning as FrozenRandomWarning,
    RecompilationWarning as RecompilationWarning,
    log_compiles as log_compiles,
)
from ._options import options as options
from ._tracebacks import full_tracebacks as full_tracebacks
from ._tracer import Tracer as Tracer

__version__: str

_P = ParamSpec("_P")
_R = TypeVar("_R")

class _CacheInfo(NamedTuple):
    hits: int
    misses: int
    signatures: int
    max_signatures: int
    code_bytes: int
    compile_seconds: float
    disk_hits: int

class CompiledFunction(Generic[_P, _R]):
    __wrapped__: Callable[_P, _R]
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    def lower(self, *args: _P.args, **kwargs: _P.kwargs) -> Lowered: ...
    def profile(self, *args: _P.args, **kwargs: _P.kwargs) -> Profile: ...
    def export(
        self,
        path: str | PathLike[str],
        /,
        *args: Any,
        cpu: str | Sequence[str] = ...,
        also: Sequence[tuple[Any, ...]] = ...,
        any_size: Sequence[int | None] = ...,
        **kwargs: Any,
    ) -> None: ...
    def cache_info(self) -> _CacheInfo: ...
    def clear_cache(self) -> None: ...
    def explain(self) -> str: ...
    def _repr_html_(self) -> str: ...

@overload
def compile(
    function: Callable[_P, _R],
    *,
    static_argnums: int | Sequence[int] = ...,
    static_argnames: str | Sequence[str] = ...,
    donate_argnums: int | Sequence[int] = ...,
    platform: str | None = ...,
    threads: int = ...,
    options: Mapping[str, Any] | None = ...,
    dynamic: bool | None = ...,
) -> CompiledFunction[_P, _R]: ...
@overload
def compile(
    function: None = ...,
    *,
    static_argnums: int | Sequence[int] = ...,
    static_argnames: str | Sequence[str] = ...,
    donate_argnums: int | Sequence[int] = ...,
    platform: str | None = ...,
    threads: int = ...,
    options: Mapping[str, Any] | None = ...,
    dynamic: bool | None = ...,
) -> Callable[[Callable[_P, _R]], CompiledFunction[_P, _R]]: ...
