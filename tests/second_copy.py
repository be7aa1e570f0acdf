"""Loads several copies of the core library into one process, as a wheel's and a C program's are, one of them of another
build, and compiles with each: messages are read through protobuf's reflection.

usage: second_copy.py LIBXC.so
"""

import ctypes
import os
import re
import shutil
import subprocess
import sys
import tempfile

import numpy as np

SHAPE = "{ element_type: F32 dimensions: 4 layout { minor_to_major: 0 } }"
MODULE = """name: "m" entry_computation_name: "e" entry_computation_id: 1 id: 7
host_program_shape { parameters SHAPE result SHAPE parameter_names: "p" }
computations { name: "e" id: 1 root_id: 2
  program_shape { parameters SHAPE result SHAPE parameter_names: "p" }
  instructions { name: "p" opcode: "parameter" id: 1 shape SHAPE metadata { op_name: "x" } }
  instructions { name: "n" opcode: "negate" id: 2 operand_ids: 1 shape SHAPE } }
""".replace(
    "SHAPE", SHAPE
).encode()


def check(library):
    library.xc_compile_hlo.restype = library.xc_executable_run.restype = ctypes.c_void_p
    library.xc_status_message.restype = ctypes.c_char_p
    library.xc_status_message.argtypes = [ctypes.c_void_p]
    executable = ctypes.c_void_p()
    status = library.xc_compile_hlo(MODULE, ctypes.c_size_t(len(MODULE)), None, ctypes.byref(executable))
    assert not status, library.xc_status_message(status)
    x, out = np.arange(4, dtype=np.float32), np.zeros(4, np.float32)
    inputs, outputs = (ctypes.c_void_p * 1)(x.ctypes.data), (ctypes.c_void_p * 1)(out.ctypes.data)
    status = library.xc_executable_run(executable, inputs, ctypes.c_size_t(1), outputs, ctypes.c_size_t(1), 1)
    assert not status, library.xc_status_message(status)
    np.testing.assert_array_equal(out, -x)
    library.xc_executable_free(executable)
    wrong = MODULE.replace(b"operand_ids", b"no_such_field")
    status = library.xc_compile_hlo(wrong, ctypes.c_size_t(len(wrong)), None, ctypes.byref(executable))
    assert status and b"no_such_field" in library.xc_status_message(status)


def change_build_id(path):
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True).stdout
    build_id = bytes.fromhex(re.search(r"Build ID: ([0-9a-f]+)", notes)[1])
    with open(path, "rb") as file:
        data = file.read()
    assert data.count(build_id) == 1
    with open(path, "wb") as file:
        file.write(data.replace(build_id, bytes(reversed(build_id))))


def main():
    first = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        paths = [first]
        for name in ["second", "third"]:
            paths.append(os.path.join(folder, name, "libxc.so"))
            os.mkdir(os.path.dirname(paths[-1]))
            shutil.copyfile(first, paths[-1])
        change_build_id(paths[-1])
        libraries = []
        for path in paths:
            libraries.append(ctypes.CDLL(path, mode=os.RTLD_NOW | os.RTLD_LOCAL))
            for library in libraries:
                check(library)
    print(f"{len(libraries)} copies worked in one process")
    return 0


if __name__ == "__main__":
    sys.exit(main())
