"""Sphinx's settings for the site; docs/site/build runs it."""

import os
import re
import sys

sys.path.insert(0, os.environ["XC_SITE_PYTHON"])

project = "xc"
author = "the xc authors"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
# The extension module is made by the build; the reference needs its names alone.
autodoc_mock_imports = ["xla._core"]
autodoc_member_order = "alphabetical"
autodoc_typehints = "none"
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
html_theme = "furo"
html_title = "xc"
html_show_sphinx = False
html_show_copyright = False
html_copy_source = False

PARAMETERS = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*): (.*)")


def plain_docstring(app, what, name, documented, options, lines):
    """Docstrings are plain text with examples: lines "name: meaning" become list items, stars and single backquotes mean
    themselves."""
    out, in_list = [], False
    for line in lines:
        if line.lstrip().startswith((">>>", "...")) or (out and in_example(out)) and line.strip():
            out.append(line)
            continue
        text = line.strip().replace("\\", "\\\\").replace("*", "\\*")
        text = re.sub(r"(?<!`)`([^`]+)`(?!`)", r"``\1``", text)
        found = PARAMETERS.match(line)
        if found:
            out += [] if in_list else [""]
            text = f"- **{found[1].replace('*', chr(92) + '*')}**: " + text.partition(": ")[2]
            in_list = True
        elif in_list and text and line.startswith(" "):
            text = "  " + text
        elif in_list and text:
            # A sentence that follows the list, or one that goes on in the list's last line.
            out.append("")
            in_list = False
        elif not text:
            in_list = False
        out.append(text)
    lines[:] = out


def in_example(lines):
    """Does a doctest stand right above?"""
    for line in reversed(lines):
        if not line.strip():
            return False
        if line.lstrip().startswith((">>>", "...")):
            return True
    return False


def setup(app):
    app.connect("autodoc-process-docstring", plain_docstring)
