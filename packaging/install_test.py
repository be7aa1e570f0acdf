"""Installs into a scratch folder, builds the C and C++ examples there by CMake and by pkg-config, as a user without Bazel
would, runs them, and looks at the Debian package.

usage: install_test.py FILES… --
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))


def run(*command, **more):
    done = subprocess.run(command, capture_output=True, text=True, **more)
    if done.returncode:
        raise SystemExit(f"FAILED: {' '.join(map(str, command))}: {done.stdout}{done.stderr}")
    return done.stdout


def expect(what, ok, got=""):
    if not ok:
        raise SystemExit(f"FAILED: {what}: {got}")


def first_page_program(prefix, scratch):
    """The program that the README shows, built and run as it says."""
    page = pathlib.Path(HERE).parent / "README.md"
    program = re.search(r"```cpp\n(.*?)```", page.read_text(encoding="utf-8"), re.S)[1]
    command = program.rpartition("// ")[2].strip()
    (scratch / "main.cc").write_text(program)
    module = "HloModule m\nENTRY e { x = f32[8] parameter(0) ROOT y = f32[8] add(x, x) }\n"
    environment = dict(os.environ, PKG_CONFIG_PATH=str(prefix / "lib/pkgconfig"), LD_LIBRARY_PATH=str(prefix / "lib"))
    run("sh", "-c", f'eval "{command}"', cwd=scratch, env=environment)
    missing = subprocess.run(["./a.out"], cwd=scratch, env=environment, capture_output=True, text=True)
    expect("the README's program without its module", "cannot read module.hlo" in missing.stdout, missing)
    (scratch / "module.hlo").write_text(module)
    run("./a.out", cwd=scratch, env=environment)


def main():
    files = sys.argv[1:]
    with tempfile.TemporaryDirectory() as scratch:
        prefix, build = pathlib.Path(scratch, "a prefix"), pathlib.Path(scratch, "build")
        run(sys.executable, f"{HERE}/install.py", *files, prefix)
        xla = prefix / "bin/xla"
        expect("the version", "LLVM" in run(xla, "--version"))
        for path in ("share/man/man1/xla-replay.1", "share/bash-completion/completions/xla", "include/xc/xc.hpp"):
            expect(path, (prefix / path).stat().st_size > 0)
        completion = (
            f'source "{prefix}/share/bash-completion/completions/xla"; COMP_WORDS=(xla rep); COMP_CWORD=1; _xla'
        )
        expect("completion", run("bash", "-c", f'{completion}; echo "${{COMPREPLY[@]}}"').strip() == "replay")
        runtime = prefix / "lib/libxcrt.so"
        size = runtime.stat().st_size
        print(f"libxcrt.so: {size / 2**20:.2f} MiB")
        expect("the runtime library is small", size <= 6 * 2**20, size)
        needed = run("readelf", "-dW", runtime)
        expect("and needs no LLVM and no protobuf", "LLVM" not in needed and "protobuf" not in needed, needed)

        first_page_program(prefix, pathlib.Path(scratch))
        model = pathlib.Path(scratch, "model.xcp")
        layer = prefix / "share/doc/xc/examples/c/layer.hlo"
        run(xla, "compile", layer, "-o", model, "--cpu=x86-64-v2,x86-64-v3,x86-64-v4")
        refused = subprocess.run([xla, "compile", layer, "-o", model, "--cpu=i386"], capture_output=True, text=True)
        expect("an unknown CPU", refused.returncode == 2 and "unknown CPU" in refused.stderr, refused)
        if shutil.which("cmake"):
            for folder in ("c", "cpp"):
                source = prefix / "share/doc/xc/examples" / folder
                run("cmake", "-S", source, "-B", build / folder, f"-DCMAKE_PREFIX_PATH={prefix}")
                run("cmake", "--build", build / folder)
            out = run(build / "c/run_program", model)
            expect("a C program runs a compiled one", "first element 2" in out, out)
            out = run(build / "c/run_linked")
            expect("a C program runs one that is linked in", out == "2 4 6 8\n", out)
            linked = run("readelf", "-dW", build / "c/run_program")
            expect("by the runtime alone", "libxcrt.so" in linked and "libxc.so" not in linked, linked)
            out = run(build / "cpp/compile_and_run")
            expect("a C++ program compiles, runs and profiles", "library p" in out or "library" in out, out)
            expect("errors are values", "other numbers of inputs" in out, out)
            model.write_bytes(model.read_bytes()[:-7])
            broken = subprocess.run([build / "c/run_program", model], capture_output=True, text=True)
            expect("a damaged program", broken.returncode == 2 and "bytes" in broken.stderr, broken)
        else:
            print("SKIPPED: there is no cmake to build the examples with")
        if shutil.which("dpkg-deb"):
            package = pathlib.Path(scratch, "xc.deb")
            print(run(sys.executable, f"{HERE}/deb.py", *files, package, "--uncompressed").strip())
            listed = run("dpkg-deb", "-c", package)
            expect("the package", "./usr/bin/xla" in listed and "./usr/lib/libxcrt.so" in listed, listed)
    print("ok")


if __name__ == "__main__":
    main()
