"""A headless Chromium, driven over the pipe of its DevTools protocol; nothing but the standard library is needed."""

import base64
import json
import os
import queue
import shutil
import subprocess
import tempfile
import threading
import time

PATIENCE = 30


def chromium():
    """The browser's path, or nothing where there is none."""
    named = os.environ.get("CHROMIUM")
    names = [named] if named else ["chromium", "chromium-browser", "google-chrome", "chrome"]
    return next((path for path in map(shutil.which, names) if path), None)


class Failed(AssertionError):
    """A check that does not hold."""


class Browser:
    """One browser with a profile of its own; it ends with the block."""

    def __enter__(self):
        self.profile = tempfile.mkdtemp(prefix="think-browser-")
        commands, self.into = os.pipe()
        self.out, answers = os.pipe()
        switches = [
            "--headless=new", "--no-sandbox", "--remote-debugging-pipe", "--no-first-run", "--disable-gpu",
            "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update",
            "--disable-sync", "--force-color-profile=srgb", "--hide-scrollbars", f"--user-data-dir={self.profile}",
        ]

        def place():
            # The browser reads from 3 and writes to 4, whatever numbers the pipes got.
            keep = [os.dup(commands), os.dup(answers)]
            os.dup2(keep[0], 3)
            os.dup2(keep[1], 4)

        self.process = subprocess.Popen(
            [chromium(), *switches, "about:blank"], preexec_fn=place, close_fds=False,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        os.close(commands)
        os.close(answers)
        self.last = 0
        self.waiting = {}
        self.pages = {}
        threading.Thread(target=self.listen, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.into)
        shutil.rmtree(self.profile, ignore_errors=True)

    def listen(self):
        rest = b""
        while True:
            try:
                piece = os.read(self.out, 1 << 16)
            except OSError:
                return
            if not piece:
                return
            *whole, rest = (rest + piece).split(b"\0")
            for message in map(json.loads, whole):
                if "id" in message:
                    self.waiting.pop(message["id"]).put(message)
                elif message.get("sessionId") in self.pages:
                    self.pages[message["sessionId"]].hear(message["method"], message["params"])

    def send(self, method, session=None, **params):
        self.last += 1
        answer = self.waiting[self.last] = queue.Queue()
        message = {"id": self.last, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        os.write(self.into, json.dumps(message).encode() + b"\0")
        said = answer.get(timeout=PATIENCE)
        if "error" in said:
            raise Failed(f"{method}: {said['error']['message']}")
        return said["result"]

    def page(self, width=1280, height=800, dark=False, reduced=False):
        """A new page in a context of its own, without cookies of others."""
        context = self.send("Target.createBrowserContext")["browserContextId"]
        target = self.send("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self.pages[session] = Page(self, session)
        for domain in ["Page", "Runtime", "Network", "Log", "Accessibility", "DOM"]:
            page.send(f"{domain}.enable")
        page.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500)
        features = [
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if reduced else "no-preference"},
        ]
        page.send("Emulation.setEmulatedMedia", features=features)
        return page


class Page:
    """A page, what it asked the network for, and what it complained about."""

    def __init__(self, browser, session):
        self.browser = browser
        self.session = session
        self.requests = []
        self.faults = []
        self.dialogs = 0

    def hear(self, method, params):
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.faults.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.faults.append(f"{params['entry']['text']} ({params['entry'].get('url', '')})")
        elif method == "Page.javascriptDialogOpening":
            self.dialogs += 1
            threading.Thread(target=lambda: self.send("Page.handleJavaScriptDialog", accept=True)).start()

    def send(self, method, **params):
        return self.browser.send(method, self.session, **params)

    def open(self, url):
        self.send("Page.navigate", url=url)
        self.until("document.readyState === 'complete'")

    def run(self, script):
        """What a script comes to, also where that is a promise."""
        said = self.send(
            "Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True, userGesture=True,
        )
        if "exceptionDetails" in said:
            details = said["exceptionDetails"]
            raise Failed(details.get("exception", {}).get("description") or details["text"])
        return said["result"].get("value")

    def until(self, script, seconds=PATIENCE):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                # An element that is there is no value, but true.
                if value := self.run(f"(found => found instanceof Node ? true : found)({script})"):
                    return value
            except Failed as failed:
                # A page that is being left knows nothing.
                if "context" not in str(failed).lower():
                    raise
            time.sleep(0.03)
        raise Failed(f"it did not come to be within {seconds} s: {script}; the page says {self.faults}")

    def click(self, selector):
        """A click of the mouse in the middle of the element, as a person does it."""
        box = self.run(
            f"(e => {{ e.scrollIntoView({{block: 'center'}}); const r = e.getBoundingClientRect();"
            f"return [r.x + r.width / 2, r.y + r.height / 2]; }})(document.querySelector({json.dumps(selector)}))"
        )
        for kind in ["mousePressed", "mouseReleased"]:
            self.send("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    def key(self, key, code=None, text=""):
        numbers = {"Enter": 13, "Tab": 9, " ": 32, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38, "End": 35}
        number = numbers.get(key, ord(key[0].upper()))
        same = {"key": key, "code": code or key, "windowsVirtualKeyCode": number}
        self.send("Input.dispatchKeyEvent", type="keyDown", text=text or {"Enter": "\r", " ": " "}.get(key, ""), **same)
        self.send("Input.dispatchKeyEvent", type="keyUp", **same)

    def type(self, text):
        self.send("Input.insertText", text=text)

    def tree(self):
        """What a screen reader is given: role, name and properties of all that is not ignored."""
        nodes = self.send("Accessibility.getFullAXTree")["nodes"]
        shown = []
        for node in nodes:
            if node.get("ignored"):
                continue
            properties = {it["name"]: it["value"].get("value") for it in node.get("properties", [])}
            shown.append({
                "role": node.get("role", {}).get("value"), "name": node.get("name", {}).get("value", ""), **properties,
            })
        return shown

    def screenshot(self, path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        data = self.send("Page.captureScreenshot", format="png")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))


def same(found, expected, what):
    """Both are equal, or the check failed."""
    if found != expected:
        raise Failed(f"{what}: {found!r} is not {expected!r}")


def holds(condition, what):
    """The condition holds, or the check failed."""
    if not condition:
        raise Failed(what)
