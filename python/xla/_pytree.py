"""Nested structures of arguments and results: tuples, lists, dicts, named tuples, dataclasses, None."""

import dataclasses


class Leaf:
    """The structure of a single value."""

    def __repr__(self):
        return "*"


LEAF = Leaf()


def flatten(tree):
    """(leaves, structure). Structures are hashable and compare equal when the shape of the nesting is equal."""
    leaves = []
    return leaves, _flatten(tree, leaves)


def _flatten(tree, leaves):
    if tree is None:
        return None
    if isinstance(tree, tuple):
        return (type(tree), tuple(_flatten(t, leaves) for t in tree))
    if isinstance(tree, list):
        return (list, tuple(_flatten(t, leaves) for t in tree))
    if isinstance(tree, dict):
        keys = tuple(sorted(tree, key=lambda k: (str(type(k)), k)))
        return (dict, keys, tuple(_flatten(tree[k], leaves) for k in keys))
    if dataclasses.is_dataclass(tree) and not isinstance(tree, type):
        names = tuple(f.name for f in dataclasses.fields(tree))
        return (type(tree), names, tuple(_flatten(getattr(tree, n), leaves) for n in names))
    leaves.append(tree)
    return LEAF


def is_flat_tuple(structure):
    """Is it a plain tuple of single values?"""
    return isinstance(structure, tuple) and structure[0] is tuple and all(s is LEAF for s in structure[1])


def unflatten(structure, leaves):
    """The inverse of `flatten`."""
    return _unflatten(structure, iter(leaves))


def _unflatten(structure, leaves):
    if structure is None:
        return None
    if structure is LEAF:
        return next(leaves)
    kind, children = structure[0], [_unflatten(s, leaves) for s in structure[-1]]
    if kind is dict:
        return dict(zip(structure[1], children))
    if kind is list:
        return children
    if len(structure) == 3:
        made = object.__new__(kind)
        for name, child in zip(structure[1], children):
            object.__setattr__(made, name, child)
        return made
    return kind(*children) if hasattr(kind, "_fields") else kind(children)
