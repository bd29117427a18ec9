"""A gateway of the built program, with a store of its own, before a model that says what it is told to."""

import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time

from cdp import Failed
from upstream import Upstream

CONFIG = """
[providers.there]
wire = "chat-completions"
base_url = "{url}/v1"
api_key = "key-of-the-provider"

[models.thinker]
provider = "there"
model = "thinker-2"

[keys.admin]
key = "an-admin-key-1234567890"
admin = true

[keys.alice]
key = "the-key-of-alice-123456"
"""
ADMIN = "an-admin-key-1234567890"
ALICE = "the-key-of-alice-123456"


class Gateway:
    def __init__(self, think, first="", alice=""):
        self.alice = alice
        self.think = think
        self.first = first
        self.first_thought = None

    def __enter__(self):
        self.home = tempfile.mkdtemp(prefix="think-viewer-")
        self.upstream = Upstream().__enter__()
        config = os.path.join(self.home, "config.toml")
        with open(config, "w", encoding="utf-8") as file:
            file.write(self.config())
        env = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
        env.update(HOME=self.home, XDG_CONFIG_HOME=self.home, XDG_DATA_HOME=self.home, NO_COLOR="1")
        self.env = env
        self.process = subprocess.Popen(
            [self.think, "serve", "--config", config, "--listen", "127.0.0.1:0"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env,
        )
        self.said = []
        first = self.process.stdout.readline()
        self.address = first.strip().rpartition("//")[2]
        threading.Thread(target=self.hear, daemon=True).start()
        self.base = f"http://{self.address}"
        return self

    def config(self):
        return self.first + CONFIG.format(url=self.upstream.url) + self.alice

    def reload(self, config):
        """Gives the running gateway another configuration."""
        with open(os.path.join(self.home, "config.toml"), "w", encoding="utf-8") as file:
            file.write(config)
        self.process.send_signal(signal.SIGHUP)

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.upstream.__exit__()
        shutil.rmtree(self.home, ignore_errors=True)

    def hear(self):
        for line in self.process.stderr:
            self.said.append(line)

    @property
    def link(self):
        """A new link to the viewer."""
        ran = subprocess.run([self.think, "ui", self.address], capture_output=True, text=True, env=self.env, check=True)
        return ran.stdout.strip()

    @staticmethod
    def until(something, seconds=15, what=lambda: "the gateway did not come so far"):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if found := something():
                return found
            time.sleep(0.02)
        raise Failed(what())

    def request(self, method, path, body=None, **headers):
        """Status, headers and text of an answer."""
        connection = http.client.HTTPConnection(self.address, timeout=30)
        headers = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        answer = connection.getresponse()
        return answer.status, dict((k.lower(), v) for k, v in answer.getheaders()), answer.read().decode()

    def ask(self, wish, key=ALICE, session="nightly", model="thinker"):
        """Has the model say what is wished, an object or its JSON; gives the trace."""
        content = wish if isinstance(wish, str) else json.dumps(wish)
        body = {"model": model, "stream": True, "messages": [{"role": "user", "content": content}]}
        _, headers, _ = self.request(
            "POST", "/v1/chat/completions", body, authorization=f"Bearer {key}", content_type="application/json",
            x_thinkthrough_session=session, user_agent="a-client/1.0",
        )
        return re.search(r"trace=(\w+)", headers["x-thinkthrough"])[1]

    def own(self, wish):
        """Has `think ask` ask in a conversation of its own in the gateway's store; gives the trace."""
        command = [self.think, "ask", "--config", os.path.join(self.home, "config.toml"), "-m", "thinker", "--tools", "off",
                   "--json", "--continue", json.dumps(wish)]
        ran = subprocess.run(command, capture_output=True, text=True, env=self.env, check=False)
        if ran.returncode != 0:
            raise Failed(ran.stderr)
        return json.loads(ran.stdout)["trace"]

    def kept(self, trace, key=ALICE):
        """Waits until a trace is in the store."""
        path = f"/v1/traces/{trace}"
        said = ["nothing"]

        def is_stored():
            said[0] = self.request("GET", path, authorization=f"Bearer {key}")[2]
            return '"stored"' in said[0]

        return self.until(is_stored, what=lambda: f"a trace is not in the store: {said[0]}")

