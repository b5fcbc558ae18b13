"""A headless Chromium with one tab, driven through the DevTools protocol over two pipes."""

import json
import subprocess
import time


class Browser:
    def __init__(self, directory):
        command = ("exec chromium --headless=new --no-sandbox --disable-gpu --no-first-run --disable-extensions"
                   " --disable-background-networking --disable-dev-shm-usage --remote-debugging-pipe --lang=en-GB"
                   f" --user-data-dir={directory}/browser about:blank 3<&0 4>&1 </dev/null >/dev/null 2>&1")
        self.process = subprocess.Popen(
            ["sh", "-c", command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0)
        self.rest, self.number, self.session = b"", 0, None
        targets = self.send("Target.getTargets")["targetInfos"]
        tab = next(target["targetId"] for target in targets if target["type"] == "page")
        self.session = self.send("Target.attachToTarget", targetId=tab, flatten=True)["sessionId"]
        self.send("Page.enable")
        self.send("Emulation.setScrollbarsHidden", hidden=True)

    def send(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        self.process.stdin.write(json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.rest:
                piece = self.process.stdout.read(65536)
                if not piece:
                    raise SystemExit("the browser has ended: is chromium installed?")
                self.rest += piece
            text, self.rest = self.rest.split(b"\0", 1)
            answer = json.loads(text)
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise SystemExit(f"{method}: {answer['error']}")
                return answer["result"]

    def evaluate(self, expression):
        result = self.send("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise SystemExit(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait(self, condition, seconds=60):
        deadline = time.monotonic() + seconds
        while not self.evaluate(f"Boolean({condition})"):
            if time.monotonic() > deadline:
                raise SystemExit(f"waited in vain: {condition}: {self.evaluate('document.body.innerText')}")
            time.sleep(0.05)

    def click(self, element):
        """Clicks the middle of an element with the mouse, as a person does."""
        self.wait(element)
        box = self.evaluate(f"(({element}).scrollIntoView({{ block: 'nearest' }}),"
                            f" ({element}).getBoundingClientRect().toJSON())")
        place = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}
        for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **place)
        # The pointer leaves, so that nothing is shown as hovered.
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=2, y=500)

    def button(self, text):
        self.click(f"[...document.querySelectorAll('button')].find((one) => one.innerText.startsWith({text!r}))")

    def choose(self, selector, value):
        self.evaluate(f"(() => {{ const one = document.querySelector({selector!r}); one.value = {value!r};"
                      " one.dispatchEvent(new Event('change')); })()")

    def type(self, selector, text):
        self.click(f"document.querySelector({selector!r})")
        self.send("Input.insertText", text=text)

    def view(self, name, theme="light", height=800):
        self.send("Emulation.setDeviceMetricsOverride", width=1280, height=height, deviceScaleFactor=1, mobile=False)
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": theme}])
        self.evaluate(f"location.hash = {name!r}")
        self.wait("document.querySelector('main h1')")

    def stop(self):
        self.process.kill()
        self.process.wait()
