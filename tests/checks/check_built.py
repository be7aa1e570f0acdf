"""Every C++ source, every Python test and every script of tests/ is part of a target, tests of one that runs them, and
every pattern of a glob matches something: nothing is silently left out. BUILD files are evaluated as the Python that they
nearly are, so that it does not matter whether a name is written out, made by a list or matched by a pattern."""

import builtins
import pathlib
import re
import sys

from files import ROOT, list_files

# What ./test runs by itself.
RUN_DIRECTLY = ("tests/run.py", "tests/checks/")
SOURCES = ("srcs", "hdrs", "textual_hdrs", "data")


class Known:
    """What a file outside of the repository defines: true, callable, any string or list."""

    def __call__(self, *args, **kwargs):
        return self

    def __getattr__(self, name):
        return self

    def __iter__(self):
        return iter(())

    def __add__(self, other):
        return other

    __radd__ = __add__


class Package(dict):
    """The globals of a BUILD file: each name that it does not define is a rule, whose calls are kept in `targets`."""

    def __init__(self, folder, files, patterns):
        super().__init__(__builtins__=vars(builtins))
        self.folder, self.files, self.targets, self.patterns = folder, files, [], patterns
        self.update(glob=self.glob, load=self.load, select=self.select, native=self, attr=Known(), rule=Known())

    def __missing__(self, name):
        if hasattr(builtins, name):
            raise KeyError(name)
        return lambda *args, **kwargs: self.targets.append((name, args, kwargs))

    def __getattr__(self, name):  # native.cc_test, whatever a macro's file calls cc_test
        return self.__missing__(name)

    def glob(self, include, exclude=(), allow_empty=False):
        for pattern in include:
            found = any(matches(pattern, file) for file in self.files)
            if not found and not allow_empty:
                self.patterns.append(f"{self.folder / 'BUILD.bazel'}: nothing matches {pattern}")
        wanted = lambda file: any(matches(p, file) for p in include) and not any(matches(p, file) for p in exclude)
        return [file for file in self.files if wanted(file)]

    def load(self, label, *names, **renamed):
        taken = {name: name for name in names} | renamed
        if not label.startswith("//"):
            self.update(dict.fromkeys(taken, Known()))
            return
        scope = Package(self.folder, self.files, self.patterns)
        scope.targets = self.targets
        run(ROOT / label[2:].replace(":", "/").lstrip("/"), scope)
        self.update({name: scope[original] for name, original in taken.items()})

    def select(self, choices):
        return [item for chosen in choices.values() for item in chosen]


def matches(pattern, file):
    parts = re.split(r"(\*\*/|\*)", pattern)
    regex = "".join({"**/": "(?:.*/)?", "*": "[^/]*"}.get(part, re.escape(part)) for part in parts)
    return re.fullmatch(regex, file) is not None


def run(path, scope):
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), scope)  # pylint: disable=exec-used


def strings(value):
    if isinstance(value, str):
        return {value}
    return {s for v in value for s in strings(v)} if isinstance(value, (list, tuple)) else set()


def sources(attributes, keys):
    """Files of the package among the values: labels of other packages do not match any."""
    return {s.removeprefix(":") for key in keys for s in strings(attributes.get(key, []))}


def tested(targets):
    """The files of test targets and of the libraries of their own package that they are linked from."""
    by_name = {attributes.get("name"): attributes for _, _, attributes in targets}
    pending = [attributes for rule, _, attributes in targets if rule.endswith("_test")]
    found, seen = set(), set()
    while pending:
        attributes = pending.pop()
        if id(attributes) in seen:
            continue
        seen.add(id(attributes))
        found |= sources(attributes, SOURCES)
        pending += [by_name[d] for d in sources(attributes, ("deps",)) if by_name.get(d, {}).get("testonly")]
    return found


def main():
    every = list_files()
    folders = {str(pathlib.Path(p).parent) for p in every if p.rsplit("/", 1)[-1] in ("BUILD.bazel", "BUILD")}
    owner = lambda path: next((str(f) for f in pathlib.Path(path).parents if str(f) in folders), None)
    wrong, built, tests = [], set(), set()
    owned = {}
    for path in every:
        owned.setdefault(owner(path), []).append(path)
    for folder in sorted(folders):
        base = pathlib.Path(folder)
        prefix = "" if folder == "." else folder + "/"
        package = Package(base, [p.removeprefix(prefix) for p in owned.get(folder, [])], wrong)
        file = base / "BUILD.bazel" if (ROOT / base / "BUILD.bazel").is_file() else base / "BUILD"
        run(ROOT / file, package)
        for _, args, attributes in package.targets:
            built |= {prefix + s for s in sources(attributes, SOURCES) | strings(args)}
        tests |= {prefix + s for s in tested(package.targets)}
    for path in every:
        script = path.startswith("tests/") and path.endswith((".py", ".sh")) and not path.startswith(RUN_DIRECTLY)
        is_test = path.endswith(("_test.cc", "_test.c", "_test.py"))
        if (is_test or script) and path not in tests:
            wrong.append(f"{path}: no test of {owner(path)} runs it")
        elif path.endswith((".cc", ".c", ".cpp", ".h")) and path not in built:
            wrong.append(f"{path}: in no target of {owner(path)}")
    print("\n".join(wrong))
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
