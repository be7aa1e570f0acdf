"""Random functions with nested branches, loops, jumps and writes give compiled what they give in Python."""

import importlib.util
import random

import numpy as np
import pytest

import xla

NAMES = ["a", "b", "c"]


class Writer:
    """Writes one function `f(x, n)`; the seed says which."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.count = 0

    def expression(self, depth=0):
        kind = self.random.randrange(7)
        if depth > 2 or kind < 2:
            return self.random.choice(NAMES + ["1.5", "2.0", "x[0]", "x[1]"])
        part = self.expression(depth + 1)
        if kind == 2:
            return f"({part} + {self.expression(depth + 1)})"
        if kind == 3:
            return f"({part} - {self.expression(depth + 1)})"
        if kind == 4:
            return f"np.tanh({part})"
        if kind == 5:
            return f"({part} if {self.condition(depth + 1)} else {self.expression(depth + 1)})"
        return f"({part} * 0.5)"

    def condition(self, depth=0):
        kind = self.random.randrange(6)
        if depth > 2 or kind < 3:
            return f"{self.expression(depth + 2)} {self.random.choice(['<', '>', '<='])} {self.expression(depth + 2)}"
        if kind == 3:
            return f"({self.condition(depth + 1)} and {self.condition(depth + 1)})"
        if kind == 4:
            return f"({self.condition(depth + 1)} or not {self.condition(depth + 1)})"
        return f"({self.expression(2)} < {self.expression(2)} < {self.expression(2)})"

    def block(self, indent, depth, in_loop):
        out, space = [], "    " * indent
        for _ in range(self.random.randint(1, 3)):
            kind = self.random.randrange(10)
            self.count += 1
            if kind < 4 or depth > 3:
                out.append(f"{space}{self.random.choice(NAMES)} = {self.expression()}")
            elif kind < 6:
                out += [f"{space}if {self.condition()}:", *self.block(indent + 1, depth + 1, in_loop)]
                if self.random.random() < 0.6:
                    out += [f"{space}else:", *self.block(indent + 1, depth + 1, in_loop)]
            elif kind == 6:
                trips = self.random.choice(["2", "3", "20", "n"])
                out += [f"{space}for i{self.count} in range({trips}):", *self.block(indent + 1, depth + 1, True)]
                if self.random.random() < 0.3:
                    out += [f"{space}else:", *self.block(indent + 1, depth + 1, in_loop)]
            elif kind == 7:
                name = f"w{self.count}"
                out += [f"{space}{name} = 0", f"{space}while {name} < 4 and {self.condition()}:"]
                out += [f"{space}    {name} += 1", *self.block(indent + 1, depth + 1, True)]
            elif kind == 8 and in_loop:
                out += [f"{space}if {self.condition()}:", f"{space}    {self.random.choice(['break', 'continue'])}"]
            elif kind == 9 and self.random.random() < 0.4:
                out += [f"{space}if {self.condition()}:", f"{space}    return {self.expression()}, {self.expression()}"]
            else:
                out.append(f"{space}x[{self.random.randrange(2)}] = {self.expression()}")
        return out

    def function(self):
        head = [
            "import numpy as np",
            "",
            "",
            "def f(x, n):",
            "    x = x.copy()",
            "    a, b, c = x[0], x[1], x[0] * x[1]",
        ]
        return "\n".join(head + self.block(1, 0, False) + ["    return a + b, c + x[1]", ""])


@pytest.mark.parametrize("seed", range(24))
def test_random_function(seed, tmp_path):
    path = tmp_path / f"written_{seed}.py"
    path.write_text(Writer(seed).function())
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    compiled = xla.compile(module.f)
    for x in (np.array([0.3, -1.2]), np.array([2.5, 0.7])):
        want = np.array(module.f(x, 3), float)
        np.testing.assert_allclose(np.array(compiled(x, 3), float), want, rtol=1e-9, atol=1e-12)
