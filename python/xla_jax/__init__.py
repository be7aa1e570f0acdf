"""Runs JAX's programs on the xc compiler: JAX finds `jax_plugins.xc` by itself and calls `initialize` here.

The platform is `xc`: JAX_PLATFORMS=xc, or xc,cpu beside JAX's own. XLA_JAX_REPLACE_CPU=1 puts it in the place of `cpu`.
"""

import dataclasses
import os
import pathlib
import sys

__all__ = ["initialize", "library_path"]

#: Versions of JAX that the plugin was tested with, first and last.
TESTED = ((0, 10, 2), (0, 10, 2))

_FOLDER = pathlib.Path(__file__).resolve().parent


def library_path():
    """The plugin's library: what PJRT_NAMES_AND_LIBRARY_PATHS may name."""
    return str(_FOLDER / "xc_pjrt.so")


def _warn_untested(version):
    if not TESTED[0] <= version[:3] <= TESTED[1]:
        first, last = (".".join(map(str, v)) for v in TESTED)
        tested = first if first == last else f"{first} to {last}"
        print(f"xla_jax: tested with JAX {tested}, this is {'.'.join(map(str, version))}", file=sys.stderr)


def _options():
    """Options for the client, from JAX's own settings at the time when it is made."""
    from jax._src import xla_bridge

    count = xla_bridge.num_cpu_devices.value
    # Without the setting, the library reads XLA_FLAGS as JAX's own client does.
    return {"cpu_device_count": count} if count > 0 else {}


def initialize():
    """Registers the platform `xc` with JAX. JAX calls it once, before it makes its first client."""
    import jax
    from jax._src import xla_bridge

    _warn_untested(jax.version.__version_info__)
    in_place_of_cpu = os.environ.get("XLA_JAX_REPLACE_CPU", "0") not in ("", "0", "false")
    c_api = xla_bridge.register_plugin("xc", priority=10, library_path=library_path(), options=_options)
    registration = xla_bridge._backend_factories["xc"]
    registration.experimental = False
    platforms = (jax.config.jax_platforms or "").split(",")
    # JAX looks up the platform `cpu` for callbacks and for arrays of the host, whatever the default is: where its own
    # client is not asked for, this is the one.
    if in_place_of_cpu or ("xc" in platforms and "cpu" not in platforms):
        _replace_cpu(xla_bridge, registration)
    if "xc" in platforms and "cpu" not in platforms:
        jax.config.update("jax_platforms", ",".join(platforms + ["cpu"]))
    return c_api


def _replace_cpu(xla_bridge, registration):
    """Makes `cpu` the same client as `xc`."""

    def factory_of(other):
        return lambda: xla_bridge._backends.get(other) or registration.factory()

    for name, other in (("xc", "cpu"), ("cpu", "xc")):
        priority = xla_bridge._backend_factories[name].priority
        xla_bridge._backend_factories[name] = dataclasses.replace(
            registration, factory=factory_of(other), priority=priority
        )
