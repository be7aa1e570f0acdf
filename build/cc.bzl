"""C++ libraries whose files are compiled a few at a time, as one: the headers that they share are read once for
all of them, and inline functions and templates are compiled once. Gains: docs/build.md.

Names in unnamed namespaces must differ within a target (or its file is named in `apart`). With --define=joined=no each
file is compiled by itself, which shows whether it includes all that it uses."""

_MOST = 10

def _joined(name, srcs, apart, most, testonly):
    """The sources to compile: those of C++ in files of at most `most` of them each, the rest as it is."""
    plain = [src for src in srcs if not src.endswith(".cc") or src.startswith((":", "/")) or src in apart]
    joined = [src for src in srcs if src not in plain]
    if len(joined) < 2 or most == 1:
        return srcs
    parts = (len(joined) + most - 1) // most
    made = []
    for part in range(parts):
        of_part = joined[part * len(joined) // parts:(part + 1) * len(joined) // parts]
        made.append("%s_joined_%d.cc" % (name, part))
        native.genrule(
            name = made[-1][:-len(".cc")],
            srcs = of_part,
            outs = [made[-1]],
            cmd = "for f in $(SRCS); do echo \"#line 1 \\\"$$f\\\"\"; cat -- \"$$f\"; done >$@",
            testonly = testonly,
            visibility = ["//visibility:private"],
        )
    return plain + select({
        "//build:one_by_one": joined,
        "//conditions:default": made,
    })

def cc_library(name, srcs = [], apart = [], most = _MOST, testonly = False, **kwargs):
    native.cc_library(
        name = name,
        srcs = _joined(name, srcs, apart, most, testonly),
        testonly = testonly,
        **kwargs
    )

def gtest(name, linkopts = [], **kwargs):
    """A test by GoogleTest and GoogleMock, with GoogleTest's main."""
    native.cc_test(
        name = name,
        linkopts = ["-lgmock", "-lgtest", "-lgtest_main", "-lpthread"] + linkopts,
        **kwargs
    )
