"""`xla view`'s pages in a browser: they open quickly, are searched, clicked, dragged and zoomed, and throw no error.

usage: view_page.py TOOL SMALL.hlo
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import browser

SECONDS = 2.0  # of processor time, in which a page must be open
LARGE = 30_000  # instructions


def large_module():
    """LARGE instructions in one computation, with a loop and calls among them."""
    lines = ["HloModule large", "half { x = f32[64] parameter(0) c = f32[] constant(0.5)"]
    lines += ["b = f32[64] broadcast(c), dimensions={} ROOT m = f32[64] multiply(x, b) }", "ENTRY main {"]
    lines += ["v0 = f32[64] parameter(0)", "v1 = f32[64] parameter(1)"]
    for i in range(2, LARGE):
        a, b = i - 1, max(0, i - 1 - (i * 7919) % 40)
        op = f"call(v{a}), to_apply=half" if i % 1000 == 0 else f"{('add', 'multiply', 'maximum')[i % 3]}(v{a}, v{b})"
        name = f'metadata={{op_name="jit(main)/layer_{i // 500}/block/op" source_file="model.py" source_line={i}}}'
        lines.append(f"{'ROOT ' if i == LARGE - 1 else ''}v{i} = f32[64] {op}, {name}")
    return "\n".join(lines) + "\n}\n"


class Checks:
    def __init__(self, tool, folder):
        self.tool, self.folder = tool, folder

    def page_of(self, module, *flags):
        page = self.folder / (pathlib.Path(module).stem + ".html")
        subprocess.run([self.tool, "view", str(module), "-o", str(page), *flags], check=True)
        return page

    def opens(self, page):
        """A browser with the page open; the best of three times counts."""
        times = []
        for _ in range(3):
            seen = browser.Browser()
            times.append(seen.open(page))
            if times[-1] <= SECONDS:
                print(f"{page.name}: open after {times[-1]:.2f} s of work, {page.stat().st_size / 1e6:.1f} MB")
                return seen
            seen.__exit__()
        raise AssertionError(f"{page.name} took {times} s of work to open, more than {SECONDS}")

    def small(self, path):
        with self.opens(self.page_of(path, "--optimized")) as page:
            fusion = "DATA.graphs[DATA.entry].nodes.findIndex(n => n[OPCODE] === 'fusion')"
            assert page.evaluate(fusion) >= 0, "the small module has no fusion"
            # A box that opens: what is inside of it appears.
            boxes = page.evaluate("document.querySelectorAll('[data-key]').length")
            page.click("[data-toggle]")
            opened = page.evaluate("document.querySelectorAll('[data-key]').length")
            assert opened > boxes, f"{boxes} boxes before a fusion was opened, {opened} after"
            page.click("[data-toggle]")
            assert page.evaluate("document.querySelectorAll('[data-key]').length") == boxes
            # The panel has operands and users, and their links lead there.
            page.evaluate(f"select(DATA.entry, {fusion}, true)")
            text = page.evaluate("document.getElementById('panel').innerText")
            for part in ("Operands (", "Users (", "attributes", "bytes", "FLOPs"):
                assert part in text, f"no {part!r} in the panel:\n{text}"
            before = page.evaluate("view.selected.node")
            page.click("#panel a[data-node]")
            assert page.evaluate("view.selected.node") != before, "a link in the panel leads nowhere"
            self.moves(page)
            self.memory(page)
            assert not page.errors, page.errors

    def profiled(self, path):
        """The times of a trace colour the picture and stand in the panel."""
        with browser.Browser() as page:
            page.open(self.page_of(path, "--optimized"))
            name = page.evaluate("DATA.graphs[DATA.entry].nodes.find(n => n[OPCODE] === 'fusion')[NAME]")
            event = {"ph": "X", "name": "kernel", "dur": 12.5, "args": {"hlo_op": name, "GFLOP/s": 3.5}}
            trace = self.folder / "trace.json"
            trace.write_text(json.dumps({"traceEvents": [event, event]}))
            page.open(self.page_of(path, "--optimized", f"--profile={trace}"))
            assert page.evaluate("document.getElementById('measure').value") == "time"
            assert "25.0 µs in all" in page.evaluate("document.getElementById('legend').innerText")
            page.evaluate(
                "select(DATA.entry, DATA.graphs[DATA.entry].nodes.findIndex(n => n[OPCODE] === 'fusion'), true)"
            )
            text = page.evaluate("document.getElementById('panel').innerText")
            assert "25.0 µs in 2 runs" in text and "GFLOP/s" in text, text
            assert not page.errors, page.errors

    @staticmethod
    def moves(page):
        at = lambda: page.evaluate("[view.x, view.y, view.scale]")
        x, y, scale = at()
        page.drag(400, 500, 60, 40)
        assert [round(v) for v in at()[:2]] == [round(x + 60), round(y + 40)], "dragging does not move the picture"
        page.wheel(400, 500, -240)
        page.wait_for(f"view.scale > {scale}")
        page.click("#fit")
        page.click("#in")
        page.click("#out")

    @staticmethod
    def memory(page):
        page.click("[data-tab=memory]")
        text = page.evaluate("document.getElementById('memory').innerText")
        for part in ("Temporary memory over time", "most in use", "position of the instruction", "of the most in use"):
            assert part in text, f"no {part!r} in the memory page:\n{text}"
        page.click("#memory table a")
        assert page.evaluate("!document.getElementById('graph').hidden && !!view.selected"), "a value leads nowhere"

    def large(self):
        module = self.folder / "large.hlo"
        module.write_text(large_module())
        with self.opens(self.page_of(module)) as page:
            page.click("#search")
            page.type("v2999")
            page.wait_for("document.getElementById('count').textContent === '1 of 11'")
            first = page.evaluate("nodeOf(view.selected.graph, view.selected.node)[NAME]")
            page.press("Enter")
            assert page.evaluate("document.getElementById('count').textContent") == "2 of 11"
            page.press("Enter", shift=True)
            assert page.evaluate("nodeOf(view.selected.graph, view.selected.node)[NAME]") == first
            page.click("#previous")
            assert page.evaluate("document.getElementById('count').textContent") == "11 of 11"
            # What was found is in the middle of the picture.
            page.press("Enter")
            x, y = page.place(".lit .chosen")
            area = page.evaluate(
                "(r => [r.left, r.top, r.right, r.bottom])(document.getElementById('picture').getBoundingClientRect())"
            )
            assert area[0] < x < area[2] and area[1] < y < area[3], f"the match is at {x}, {y}, outside of {area}"
            assert not page.errors, page.errors


def main():
    tool, small = sys.argv[1:3]
    if not browser.find():
        print("SKIPPED: there is no Chromium (Debian's package chromium)")
        return 0
    with tempfile.TemporaryDirectory() as folder:
        checks = Checks(os.path.abspath(tool), pathlib.Path(folder))
        checks.small(small)
        checks.profiled(small)
        checks.large()
    return 0


if __name__ == "__main__":
    sys.exit(main())
