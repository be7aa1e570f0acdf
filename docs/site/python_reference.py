"""The reference of the Python package, from its docstrings."""

import ast

MODULES = {
    "xla": "xla/__init__.py",
    "xla.lax": "xla/lax/__init__.py",
    "xla.lax.random": "xla/lax/random.py",
    "xla.nn": "xla/nn.py",
    "xla.tf": "xla/tf.py",
}


def names_of(path):
    """The public names that a module defines or takes from its neighbours."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = []
    for node in tree.body:
        if isinstance(node, ast.Assign) and node.targets[0].id == "__all__":
            value = node.value
            return list(ast.literal_eval(value)) if isinstance(value, ast.List) else value.func.value.value.split()
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            found.append((node.name, node))
        if isinstance(node, ast.ImportFrom) and node.level and node.module:
            found += [(a.asname or a.name, node) for a in node.names]
    return [name for name, _ in found if not name.startswith("_")]


def reference(root):
    parts = []
    for module, path in MODULES.items():
        parts += [f"## {module}", ""]
        for name in sorted(names_of(root / "python" / path), key=str.lower):
            directive = "autoclass" if name[0].isupper() or name == "log_compiles" else "autofunction"
            options = ["    :members:"] if directive == "autoclass" else []
            parts += ["```{eval-rst}", f".. {directive}:: {module}.{name}", *options, "```", ""]
    return "\n".join(parts)
