"""The plugin has as many devices as JAX's own client would have: by JAX's setting, and by XLA's flag without that.

usage: device_count.py PLUGIN.so
"""

import os
import subprocess
import sys

PROGRAM = """
import jax
if {setting}:
    jax.config.update("jax_num_cpu_devices", {setting})
print(len(jax.devices()))
"""


def count(plugin, setting, flag):
    environment = {**os.environ, "PJRT_NAMES_AND_LIBRARY_PATHS": f"cpu:{os.path.abspath(plugin)}"}
    environment["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={flag}" if flag else ""
    program = PROGRAM.format(setting=setting)
    return int(subprocess.run([sys.executable, "-c", program], env=environment, stdout=-1, check=True).stdout)


def main():
    failed = 0
    for setting, flag, expected in ((0, 0, 1), (3, 0, 3), (0, 2, 2)):
        found = count(sys.argv[1], setting, flag)
        if found != expected:
            print(f"FAILED with the setting {setting} and the flag {flag}: {found} devices, not {expected}")
            failed += 1
    print(f"{3 - failed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
