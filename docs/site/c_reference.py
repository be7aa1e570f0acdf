"""The reference of the C API, from the comments of its headers."""

import re

HEADERS = {
    "service/xc.h": "HLO: compile, inspect, run",
    "service/xc_program.h": "Programs compiled ahead of time",
    "jit/capi/xc_graph.h": "Host graphs and SavedModels",
    "jit/capi/xc_plugin.h": "A host framework's plugin",
}
PART = re.compile(r"/\*(?P<comment>.*?)\*/|(?P<declaration>[^/]+?;(?=\s*(?:\n|$)))", re.S)


def plain(comment):
    return "\n".join(re.sub(r"^\s*\* ?", "", line) for line in comment.strip().splitlines()).strip()


def reference_of(text):
    """Markdown: each comment above the declarations that follow it."""
    body = (
        re.sub(r"^#(?!define XC_API).*(?:\\\n.*)*$", "", text, flags=re.M)
        .replace('extern "C" {', "")
        .replace('} /* extern "C" */', "")
    )
    out, at = [], 0
    while match := re.compile(r"/\*.*?\*/", re.S).search(body, at):
        before = body[at : match.start()].strip()
        out.append(("code", before))
        out.append(("text", plain(match[0][2:-2])))
        at = match.end()
    out.append(("code", body[at:].strip()))
    # Comments inside of a struct or enum stay in its code.
    joined, depth = [], 0
    for kind, part in out:
        if not part:
            continue
        if depth > 0:
            joined[-1] = ("code", joined[-1][1] + "\n" + (f"/* {part} */" if kind == "text" else part))
        else:
            joined.append((kind, part))
        if kind == "code":
            depth += part.count("{") - part.count("}")
    lines = []
    for kind, part in joined:
        lines += ["```c", part, "```", ""] if kind == "code" else [part.replace("<", "\\<"), ""]
    return "\n".join(lines)


def reference(root):
    parts = []
    for header, title in HEADERS.items():
        if (root / header).exists():
            parts += [f"## {title}: `{header}`", "", reference_of((root / header).read_text(encoding="utf-8")), ""]
    return "\n".join(parts)
