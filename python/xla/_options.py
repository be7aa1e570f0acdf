"""The options of xla.compile(options={…}): their names, values and meanings, checked before anything is compiled."""

import difflib
import os

# name -> (its values, what it does). Those of the C API (service/xc.h) that mean something for traced functions.
OPTIONS = {
    "cache_dir": ("a folder", "keeps compiled code in files, for later processes too; XC_CACHE_DIR is the default"),
    "cache_dir_bytes": ("an int", "bytes of code that the folder keeps at most; 2 GiB by default"),
    "compile_threads": ("an int", "threads that compile one program; all by default"),
    "compile_timeout_s": ("an int", "seconds after which a compilation gives up with a TimeoutError; never by default"),
    "cpu": ("a name of LLVM's", 'compiles for this CPU, such as "x86-64-v3", instead of the one found here'),
    "disabled_passes": ("a list of names", "leaves out these passes; `xla opt --list` names them"),
    "dump_to": ("a folder", "writes a bundle there: the module before and after each pass, code, options"),
    "excess_precision": ("a bool", "computes in f32 what is written in float16 or bfloat16, with fewer roundings"),
    "keep_texts": ("a bool", "keeps the optimized HLO, LLVM IR and assembly for inspection"),
    "max_call_depth": ("an int", "refuses computations that call each other deeper"),
    "max_elided_bytes": ("an int", "refuses modules whose elided constants have more bytes in all"),
    "max_instructions": ("an int", "refuses modules with more instructions"),
    "max_memory_bytes": ("an int", "refuses programs that need more temporary memory"),
    "max_nesting": ("an int", "refuses tuples and regions that are nested deeper"),
    "until_pass": ("a name", "stops after this pass"),
}


def options():
    """The options that xla.compile(options={…}) takes: a dict of their names to what they do.

    >>> options()["excess_precision"]
    'a bool: computes in f32 what is written in float16 or bfloat16, with fewer roundings'
    """
    return {name: f"{values}: {meaning}" for name, (values, meaning) in OPTIONS.items()}


def options_text(platform, given):
    """The C API's options: lines of key=value. ValueError for a name that does not exist."""
    lines = [f"platform={platform}"] if platform else []
    for key, value in (given or {}).items():
        if key not in OPTIONS:
            near = difflib.get_close_matches(str(key), OPTIONS, 1)
            hint = f"; did you mean {near[0]!r}?" if near else "."
            raise ValueError(
                f"there is no option {key!r}{hint} The options are {', '.join(OPTIONS)}: see xla.options()"
            )
        if key == "cache_dir":
            value = os.path.abspath(os.path.expanduser(value))
        if isinstance(value, (list, tuple)):
            value = ",".join(map(str, value))
        lines.append(f"{key}={int(value) if isinstance(value, bool) else value}")
    return "\n".join(lines)
