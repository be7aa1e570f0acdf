"""A headless Chromium, driven by its own protocol over two pipes: loads a page, clicks, types, scrolls, takes pictures."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time


def find():
    """The program, or None."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    """One page of `width` by `height` pixels. A context manager: the browser ends with it."""

    def __init__(self, width=1440, height=900):
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_read, self._to = os.pipe()
        self._from, from_write = os.pipe()

        def pipes():
            os.dup2(to_read, 3)
            os.dup2(from_write, 4)

        command = [find(), "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        command += ["--remote-debugging-pipe", "--no-first-run", f"--user-data-dir={self._folder.name}"]
        command += [f"--window-size={width},{height}", "--hide-scrollbars", "--force-device-scale-factor=1"]
        self._process = subprocess.Popen(
            command, preexec_fn=pipes, pass_fds=(3, 4), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        os.close(to_read)
        os.close(from_write)
        self._buffer, self._number, self._session = b"", 0, None
        self.errors = []  # what scripts of the page threw
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._call("Page.enable")
        self._call("Runtime.enable")
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._call("Emulation.setDeviceMetricsOverride", **size)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self._process.kill()
        self._process.wait()
        os.close(self._to)
        os.close(self._from)
        self._folder.cleanup()

    def _read(self):
        while b"\0" not in self._buffer:
            part = os.read(self._from, 1 << 20)
            if not part:
                raise RuntimeError("the browser has ended")
            self._buffer += part
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)

    def _call(self, method, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._to, data) :]
        while True:
            answer = self._read()
            if answer.get("method") == "Runtime.exceptionThrown":
                details = answer["params"]["exceptionDetails"]
                self.errors.append(details.get("exception", {}).get("description", details["text"]))
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]

    def evaluate(self, script):
        """The value of a JavaScript expression, as Python's."""
        result = self._call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{script}: {result['exceptionDetails'].get('exception', {}).get('description')}")
        return result["result"].get("value")

    def wait_for(self, script, seconds=60):
        """Until the expression is true."""
        end = time.monotonic() + seconds
        while not self.evaluate(script):
            if time.monotonic() > end:
                raise TimeoutError(f"{script} is not true after {seconds} s")
            time.sleep(0.02)

    def open(self, path):
        """Loads a file and waits for the page's `data-ready`; the seconds of processor time that the page's thread took, so
        that what else the machine does at the time does not count."""
        self._call("Performance.enable", timeDomain="threadTicks")
        self._call("Page.navigate", url="file://" + os.path.abspath(path))
        self.wait_for("document.documentElement?.dataset.ready === '1'")
        metrics = {m["name"]: m["value"] for m in self._call("Performance.getMetrics")["metrics"]}
        return metrics["TaskDuration"]

    def place(self, selector, index=0):
        """The middle of the `index`th element that a CSS selector finds."""
        x, y = self.evaluate(
            f"(r => [r.left + r.width / 2, r.top + r.height / 2])"
            f"(document.querySelectorAll({json.dumps(selector)})[{index}].getBoundingClientRect())"
        )
        return x, y

    def _mouse(self, kind, x, y, **more):
        self._call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, selector, index=0):
        x, y = self.place(selector, index)
        self._mouse("mouseMoved", x, y)
        self._mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        self._mouse("mouseReleased", x, y, button="left", clickCount=1)

    def drag(self, x, y, by_x, by_y):
        self._mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        self._mouse("mouseMoved", x + by_x, y + by_y, button="left", buttons=1)
        self._mouse("mouseReleased", x + by_x, y + by_y, button="left", clickCount=1)

    def wheel(self, x, y, by):
        self._mouse("mouseWheel", x, y, deltaX=0, deltaY=by)

    def type(self, text):
        self._call("Input.insertText", text=text)

    def press(self, key, shift=False):
        code = {"Enter": 13}[key]
        for kind in ("rawKeyDown", "keyUp"):
            self._call(
                "Input.dispatchKeyEvent", type=kind, key=key, windowsVirtualKeyCode=code, modifiers=8 if shift else 0
            )

    def screenshot(self, path):
        data = self._call("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))
