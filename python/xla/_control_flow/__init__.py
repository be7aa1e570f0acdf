"""Control flow on traced values: functions are rewritten so that their branches and loops become `conditional` and `while`
where a traced value decides. In the order in which the modules build on each other:

- trees, source, effects, jumps, liveness, rewrite_expressions, rewrite: a function's syntax tree, found and rewritten;
- places, staged, loops, iterables: branches and loops as computations, and what they change;
- replacements, conversion: functions converted, once each, and what is called in place of functions that cannot be;
- expressions, statements, changes: what converted functions call.
"""

from . import changes, expressions, statements
from .conversion import call, convert, explain, has_loop
from .places import Poison
