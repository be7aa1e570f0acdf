"""Installs xc where C, C++ and CMake look for libraries: headers, libraries, the command, pkg-config and CMake files, man
pages, shell completion, examples. Run by `third_party/bazel run //:install -- PREFIX`.

usage: install.py FILES… -- PREFIX [--destdir=DIR] [--bundle]

    PREFIX         where it will be used: /usr/local, $HOME/.local, …
    --destdir=DIR  put it below DIR for now, as packages do
    --bundle       also the shared libraries of Debian's packages that it needs, in PREFIX/lib/libs, where its run paths
                   look first: for systems that do not have these packages
"""

import argparse
import os
import re
import shutil
import subprocess
import sys

# What wheels know of shared libraries holds here, too.
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "python"))
from wheel_binaries import needed_libraries  # noqa: E402

VERSION = "0.1.0"

PKG_CONFIG = """prefix={prefix}
includedir=${{prefix}}/include
libdir=${{prefix}}/lib

Name: {name}
Description: {about}
Version: {version}
Cflags: "-I${{includedir}}"
Libs: "-L${{libdir}}" "-Wl,-rpath,${{libdir}}" -l{name}
"""

CMAKE = """# Imported targets: xc::xc (the compiler), xc::runtime (runs compiled programs only), xc::xla (the command).
get_filename_component(_xc_prefix "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
foreach(_xc_pair "xc;libxc.so" "runtime;libxcrt.so")
  list(GET _xc_pair 0 _xc_target)
  list(GET _xc_pair 1 _xc_file)
  if(NOT TARGET xc::${_xc_target})
    add_library(xc::${_xc_target} SHARED IMPORTED)
    set_target_properties(xc::${_xc_target} PROPERTIES
      IMPORTED_LOCATION "${_xc_prefix}/lib/${_xc_file}"
      IMPORTED_SONAME "${_xc_file}"
      INTERFACE_INCLUDE_DIRECTORIES "${_xc_prefix}/include")
  endif()
endforeach()
if(NOT TARGET xc::xla)
  add_executable(xc::xla IMPORTED)
  set_target_properties(xc::xla PROPERTIES IMPORTED_LOCATION "${_xc_prefix}/bin/xla")
endif()
set(xc_FOUND TRUE)
"""

CMAKE_VERSION = """set(PACKAGE_VERSION "@VERSION@")
if(PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION)
  set(PACKAGE_VERSION_COMPATIBLE FALSE)
else()
  set(PACKAGE_VERSION_COMPATIBLE TRUE)
  if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)
    set(PACKAGE_VERSION_EXACT TRUE)
  endif()
endif()
"""


def help_text(xla, *command):
    return subprocess.run([xla, *command, "--help"], check=True, capture_output=True, text=True).stdout


def commands(xla):
    """Name and description of each command."""
    listed = help_text(xla).partition("commands:\n")[2].partition("\n\n")[0]
    return re.findall(r"^  (\S+)\s+(.*)$", listed, re.MULTILINE)


def flags(text):
    """Flag, with its default, and description of each flag in a command's help."""
    return re.findall(r"^  (--?\S+)\n      (.*)$", text.partition("\nflags:\n")[2], re.MULTILINE)


def roff(text):
    lines = text.replace("\\", "\\e").replace("-", "\\-").splitlines()
    return "\n".join(("\\&" + line) if line.startswith((".", "'")) else line for line in lines)


def man_page(name, about, text):
    """A page of section 1 from a command's help."""
    usage, _, rest = text.partition("\n\n")
    prose = rest.partition("\nflags:\n")[0].strip()
    page = [f'.TH {name.upper().replace(" ", "-")} 1 "" "xc {VERSION}"', ".SH NAME", f"{roff(name)} \\- {roff(about)}"]
    page += [
        ".SH SYNOPSIS",
        ".nf",
        roff(usage.removeprefix("usage: ")),
        ".fi",
        ".SH DESCRIPTION",
        ".nf",
        roff(prose),
        ".fi",
    ]
    options = flags(text)
    if options:
        page.append(".SH OPTIONS")
        for flag, description in options:
            page += [".TP", f".B {roff(flag)}", roff(description)]
    return "\n".join(page) + "\n"


def bash_completion(found):
    """Commands, flags of each, and files."""
    lines = ["# Completion of `xla` for bash.", "_xla() {", '  local word="${COMP_WORDS[COMP_CWORD]}" names=""']
    lines += ["  compopt -o default 2>/dev/null", '  case "${COMP_WORDS[1]}" in']
    for name, _, text in found:
        names = " ".join(re.sub(r"=.*", "", flag) for flag, _ in flags(text))
        lines.append(f'    {name}) names="{names} --help" ;;')
    lines += [
        f'    *) ((COMP_CWORD == 1)) && names="{" ".join(n for n, _, _ in found)} help --help --version" ;;',
        "  esac",
    ]
    lines += ['  [[ $word == -* || $COMP_CWORD == 1 ]] && COMPREPLY=($(compgen -W "$names" -- "$word"))', "}"]
    return "\n".join(lines + ["complete -F _xla xla", ""])


def zsh_completion(found):
    quote = lambda text: text.replace("'", "'\\''").replace(":", "\\:").replace("[", "\\[").replace("]", "\\]")
    lines = ["#compdef xla", "local -a commands", "commands=("]
    lines += [f"  '{name}:{quote(about)}'" for name, about, _ in found]
    lines += [")", "if ((CURRENT == 2)); then", "  _describe command commands", "  return", "fi", "case $words[2] in"]
    for name, _, text in found:
        options = " ".join(f"'{re.sub(r'=.*', '', flag)}[{quote(about)}]'" for flag, about in flags(text))
        lines.append(f"  {name}) _arguments {options} '*:file:_files' ;;")
    return "\n".join(lines + ["esac", ""])


def place(root, path, data, mode=0o644):
    full = os.path.join(root, path)
    os.makedirs(os.path.dirname(full), exist_ok=True)
    if os.path.lexists(full):
        os.remove(full)
    with open(full, "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())
    os.chmod(full, mode)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def install(files, prefix, destdir="", bundle=False):
    """Puts `files`, by base name, below `destdir` + `prefix`; returns that folder."""
    root = destdir + prefix
    for header in ("xc.h", "xc.hpp", "xc_graph.h"):
        place(root, f"include/xc/{header}", read(files[header]).replace(b'"service/xc.h"', b'"xc.h"'))
    libraries = [files["libxc.so"], files["libxcrt.so"]]
    for library in libraries:
        place(root, f"lib/{os.path.basename(library)}", read(library), 0o755)
    if shutil.which("strip"):
        subprocess.run(["strip", "--strip-unneeded", f"{root}/lib/libxc.so"], check=True)
    else:
        print("note: there is no strip: libxc.so keeps what only debuggers read", file=sys.stderr)
    place(root, "bin/xla", read(files["launcher"]), 0o755)
    if bundle:
        for name, file in needed_libraries(libraries).items():
            place(root, f"lib/libs/{name}", read(file))
    about = {"xc": "A compact compiler for tensor programs", "xcrt": "Runs programs that xc compiled ahead of time"}
    for name, text in about.items():
        place(
            root, f"lib/pkgconfig/{name}.pc", PKG_CONFIG.format(prefix=prefix, name=name, about=text, version=VERSION)
        )
    place(root, "lib/cmake/xc/xcConfig.cmake", CMAKE)
    place(root, "lib/cmake/xc/xcConfigVersion.cmake", CMAKE_VERSION.replace("@VERSION@", VERSION))
    xla = f"{root}/bin/xla"
    found = [(name, text, help_text(xla, name)) for name, text in commands(xla)]
    place(root, "share/man/man1/xla.1", man_page("xla", "a compiler for tensor programs", help_text(xla)))
    for name, text, page in found:
        place(root, f"share/man/man1/xla-{name}.1", man_page(f"xla {name}", text, page))
    place(root, "share/bash-completion/completions/xla", bash_completion(found))
    place(root, "share/zsh/site-functions/_xla", zsh_completion(found))
    place(root, "share/doc/xc/LICENSE", read(files["LICENSE"]))
    for example in ("main.cc", "run_program.c", "run_linked.c", "layer.hlo"):
        folder = "cpp" if example == "main.cc" else "c"
        place(root, f"share/doc/xc/examples/{folder}/{example}", read(files[example]))
    for folder in ("c", "cpp"):
        place(root, f"share/doc/xc/examples/{folder}/CMakeLists.txt", read(files[f"{folder}/CMakeLists.txt"]))
    return root


def by_name(paths):
    """Paths by base name; CMakeLists.txt with their folder."""
    named = {}
    for path in paths:
        base = os.path.basename(path)
        named[f"{os.path.basename(os.path.dirname(path))}/{base}" if base == "CMakeLists.txt" else base] = path
    return named


def main():
    at = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    files = by_name(os.path.abspath(path) for path in sys.argv[1:at])
    parser = argparse.ArgumentParser(prog="third_party/bazel run //:install --", usage="%(prog)s PREFIX [options]")
    parser.add_argument("prefix", metavar="PREFIX")
    parser.add_argument("--destdir", default="")
    parser.add_argument("--bundle", action="store_true")
    options = parser.parse_args([argument for argument in sys.argv[at + 1 :] if argument != "--"])
    here = os.environ.get("BUILD_WORKING_DIRECTORY", os.getcwd())
    prefix = os.path.normpath(os.path.join(here, os.path.expanduser(options.prefix)))
    destdir = os.path.normpath(os.path.join(here, options.destdir)) if options.destdir else ""
    root = install(files, prefix, destdir, options.bundle)
    print(f"installed in {root}: include/xc, lib/libxc.so, lib/libxcrt.so, bin/xla, lib/cmake/xc, lib/pkgconfig")


if __name__ == "__main__":
    main()
