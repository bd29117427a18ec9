#!/usr/bin/env python3
"""Runs real clients, unmodified, against strict simulated providers: directly, and through the gateway.

    python3 tests/clients/run.py [--think BINARY] [--home FOLDER] [--only WORD] [--install] [--write]

Each client holds a conversation with two tool loops: a question, and a follow-up. At the gateway it has a key of its own,
and so is another tenant than the client before it. The packages are installed by name into `--home` (target/clients);
nothing else on the machine is touched. `--write` puts the table into docs/clients.md.
This is not part of `cargo test`: it needs Python 3, Node.js and a network for the installation.
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import urllib.request
import venv

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent

PYTHON = ["openai", "anthropic", "google-genai", "langchain", "langchain-openai", "langchain-anthropic", "litellm"]
# pydantic-ai looks for `mcp` whether or not anybody asks for tools of that kind.
PYTHON += ["mcp", "pydantic-ai-slim[openai]"]
NODE = ["openai", "@anthropic-ai/sdk", "@google/genai", "ai", "@ai-sdk/openai-compatible", "@ai-sdk/anthropic"]
NODE += ["@ai-sdk/openai"]
AGENTS = {
    "@anthropic-ai/claude-code": "install.cjs",
    "@openai/codex": None,
    "opencode-ai": "postinstall.mjs",
}

CHAT = ["kimi-k2", "kimi-k3", "deepseek-v4", "vllm", "groq", "minimax-tags", "gemini-3", "anthropic-manual", "mistral"]
RESPONSES = ["responses-stateless", "deepseek-v4-responses", "kimi-k2", "anthropic-manual"]
MESSAGES = ["anthropic-manual", "anthropic-omitted", "anthropic-bound", "kimi-k2", "gemini-3"]
GEMINI = ["gemini-3", "kimi-k2", "anthropic-manual"]

# The key where any is accepted.
ANY_KEY = "sk-client-of-mine"

# Client, the wire that it speaks, and the simulators that it is tried with.
ROWS = [
    ("openai-chat", "chat-completions", CHAT),
    ("openai-chat-stream", "chat-completions", ["kimi-k2", "kimi-k3", "deepseek-v4"]),
    ("openai-responses", "responses", RESPONSES),
    ("openai-responses-stored", "responses", ["responses-stateful", "kimi-k2", "anthropic-manual"]),
    ("anthropic", "messages", MESSAGES),
    ("anthropic-keeps", "messages", MESSAGES),
    ("google-genai", "generate-content", GEMINI),
    ("langchain", "chat-completions", ["kimi-k2", "deepseek-v4", "gemini-3", "anthropic-manual"]),
    ("langchain-anthropic", "messages", ["anthropic-manual", "anthropic-omitted", "kimi-k3"]),
    ("pydantic-ai", "chat-completions", ["kimi-k2", "deepseek-v4", "vllm", "mistral", "anthropic-manual"]),
    ("litellm", "chat-completions", ["kimi-k2", "minimax-tags", "groq", "mistral", "anthropic-manual"]),
    ("openai-chat-js", "chat-completions", ["kimi-k2", "deepseek-v4"]),
    ("openai-chat-stream-js", "chat-completions", ["kimi-k2", "gemini-3"]),
    ("openai-responses-js", "responses", RESPONSES),
    ("anthropic-js", "messages", MESSAGES),
    ("google-genai-js", "generate-content", GEMINI),
    ("ai-sdk", "chat-completions", ["kimi-k2", "vllm", "groq", "mistral", "deepseek-r1", "anthropic-manual"]),
    ("ai-sdk-stream", "chat-completions", ["kimi-k2", "groq"]),
    ("ai-sdk-anthropic", "messages", ["anthropic-manual", "kimi-k2"]),
    ("ai-sdk-responses", "responses", ["responses-stateful", "responses-stateless", "kimi-k2", "anthropic-manual"]),
    ("claude-code", "messages", ["kimi-k2", "kimi-k3", "deepseek-v4", "gemini-3", "anthropic-manual"]),
    ("codex", "responses", ["anthropic-manual", "kimi-k2", "responses-stateless"]),
    ("opencode", "chat-completions", ["kimi-k2", "deepseek-v4", "gemini-3", "anthropic-manual", "groq", "mistral"]),
]


def install(home):
    """Installs every package by its name, once."""
    py, js = home / "py", home / "js"
    if not (py / "done").exists():
        venv.create(py, with_pip=True)
        for package in PYTHON:
            subprocess.run([py / "bin" / "pip", "install", "--quiet", "--only-binary", ":all:", package], check=True)
        (py / "done").touch()
    if not (js / "done").exists():
        js.mkdir(parents=True, exist_ok=True)
        (js / "package.json").write_text('{"private":true,"type":"module"}\n')
        subprocess.run(["npm", "install", "--no-fund", "--no-audit", *NODE, *AGENTS], cwd=js, check=True)
        for package, script in AGENTS.items():
            if script:
                subprocess.run(["node", script], cwd=js / "node_modules" / package, check=True)
        (js / "done").touch()


class Server:
    """`think sim` or `think serve`, with folders of its own."""

    def __init__(self, think, command, home):
        self.think, self.keys = think, 0
        env = {key: value for key, value in os.environ.items() if not key.endswith(("_API_KEY", "_TOKEN"))}
        for name in ("CONFIG", "DATA", "STATE"):
            env[f"XDG_{name}_HOME"] = str(home / command / name.lower())
        self.log = open(home / f"{command}.log", "w")
        self.env = env
        if command == "serve":
            # The first key closes the gateway to callers without one.
            self.key()
        self.process = subprocess.Popen(
            [think, command, "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=self.log, env=env, text=True
        )
        line = self.process.stdout.readline().strip()
        if not line.startswith("listening on "):
            sys.exit(f"`think {command}` did not start: {line!r}; see {home / command}.log")
        self.base = line.removeprefix("listening on ")

    def key(self):
        """A new gateway key, which is a tenant of its own."""
        self.keys += 1
        command = [self.think, "keys", "create", f"client-{self.keys}", "--json"]
        made = subprocess.run(command, env=self.env, capture_output=True, text=True, check=True)
        return json.loads(made.stdout)["key"]

    def counts(self):
        """How many thoughts were restored, missed and so on up to now."""
        with urllib.request.urlopen(f"{self.base}/metrics") as answer:
            lines = answer.read().decode().splitlines()
        counts = {}
        for line in lines:
            found = re.match(r'thinkthrough_thoughts_total\{.*outcome="(\w+)".*\} (\d+)', line)
            if found:
                counts[found[1]] = counts.get(found[1], 0) + int(found[2])
        return counts

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=60)


class Agents:
    """The agent CLIs, each started as a person would, in a folder with two files and a home of its own."""

    FILES = {"notes.txt": "Buy milk.", "plan.md": "Ship on Friday."}

    def __init__(self, home, scratch):
        self.bin, self.scratch, self.number = home / "js" / "node_modules" / ".bin", scratch, 0
        self.key = ANY_KEY

    def place(self):
        self.number += 1
        place = self.scratch / f"agent-{self.number}"
        work = place / "work"
        work.mkdir(parents=True)
        for name, text in self.FILES.items():
            (work / name).write_text(text + "\n")
        env = dict(os.environ, HOME=str(place), MINE_KEY=self.key, NO_COLOR="1")
        # opencode takes its folder from here.
        env["PWD"] = str(work)
        env.update(DISABLE_TELEMETRY="1", DISABLE_AUTOUPDATER="1", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1")
        return work, env

    def say(self, command, work, env):
        done = subprocess.run(
            command, cwd=work, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=180
        )
        return done.stdout + done.stderr + (f"\nexit code {done.returncode}" if done.returncode else "")

    def verdict(self, texts, words):
        missing = [word for text, word in zip(texts, words) if word not in text]
        missing += ["exit code 0" for text in texts if "\nexit code " in text]
        return {"ok": not missing, "detail": "" if not missing else f"no {missing} in: {texts[-1][-300:]}"}

    def claude_code(self, base, model):
        work, env = self.place()
        env.update(ANTHROPIC_BASE_URL=base, ANTHROPIC_AUTH_TOKEN=self.key)
        env.update(ANTHROPIC_MODEL=model, ANTHROPIC_SMALL_FAST_MODEL=model)
        start = [self.bin / "claude", "--tools", "Read", "--allowedTools", "Read"]
        ask = "Use the tool Read on the file {} and tell me what it says."
        first = self.say([*start, "-p", ask.format("notes.txt")], work, env)
        second = self.say([*start, "--continue", "-p", ask.format("plan.md")], work, env)
        return self.verdict([first, second], list(self.FILES.values()))

    def codex(self, base, model):
        work, env = self.place()
        provider = f'{{name="mine",base_url="{base}/v1",env_key="MINE_KEY",wire_api="responses"}}'
        options = ["--skip-git-repo-check", "-c", "model_provider=mine", "-c", f"model_providers.mine={provider}"]
        options += ["-c", 'sandbox_mode="danger-full-access"', "-m", model]
        first = self.say([self.bin / "codex", "exec", *options, "Run the command ls and tell me what it shows."], work, env)
        again = [self.bin / "codex", "exec", "resume", "--last", *options, "Run the command pwd and tell me where we are."]
        second = self.say(again, work, env)
        return self.verdict([first, second], ["notes.txt", str(work)])

    def opencode(self, base, model):
        work, env = self.place()
        models = {model: {"name": "mine", "tool_call": True, "reasoning": True}}
        options = {"baseURL": f"{base}/v1", "apiKey": self.key}
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "mine", "options": options, "models": models}
        config = {"autoupdate": False, "share": "disabled", "provider": {"mine": provider}}
        (work / "opencode.json").write_text(json.dumps(config))
        ask = "Use the tool read on the file {} and tell me what it says."
        start = [self.bin / "opencode", "run", "-m", f"mine/{model}"]
        first = self.say([*start, ask.format("notes.txt")], work, env)
        second = self.say([*start, "-c", ask.format("plan.md")], work, env)
        return self.verdict([first, second], list(self.FILES.values()))


def sdk(home, client, base, model, key):
    is_js = client.endswith("-js") or client.startswith("ai-sdk")
    if is_js:
        # Node looks for packages beside the file.
        script = home / "js" / "sdk.mjs"
        shutil.copyfile(HERE / "sdk.mjs", script)
        command = ["node", script]
    else:
        command = [home / "py" / "bin" / "python", HERE / "sdk.py"]
    env = dict(os.environ, MINE_KEY=key)
    done = subprocess.run([*command, client, base, model], env=env, capture_output=True, text=True, timeout=180)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if not lines:
        return {"ok": False, "detail": (done.stderr or done.stdout).strip()[-300:]}
    return json.loads(lines[-1])


def attempt(home, agents, client, base, model, key=ANY_KEY):
    try:
        agents.key = key
        run = getattr(agents, client.replace("-", "_"), None)
        return run(base, model) if run else sdk(home, client, base, model, key)
    except subprocess.TimeoutExpired:
        return {"ok": False, "detail": "no end within 180 s"}


def simulators(think):
    listed = subprocess.run([think, "sim", "--list"], capture_output=True, text=True, check=True).stdout
    return {line.split()[0]: line.split()[1] for line in listed.splitlines() if line.strip()}


def shown(result):
    if result is None:
        return "another API"
    return "passes" if result["ok"] else "fails"


def why(result):
    """The provider's own words, without the client's frame around them."""
    text = result["detail"].replace("|", "/")
    text = re.sub(r"^\w*Error: (Error code: )?", "", text)
    return text[:140]


def table(results):
    lines = ["| client | model | directly | through the gateway |", "| --- | --- | --- | --- |"]
    for client, model, direct, gateway in results:
        lines.append(f"| {client} | {model} | {shown(direct)} | {shown(gateway)} |")
    return "\n".join(lines)


def write(text):
    page = ROOT / "docs" / "clients.md"
    begin, end = "<!-- table: begin -->", "<!-- table: end -->"
    before, rest = page.read_text().split(begin)
    _, after = rest.split(end)
    page.write_text(f"{before}{begin}\n{text}\n{end}{after}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--think", default=str(ROOT / "target" / "release" / "think"))
    parser.add_argument("--home", default=str(ROOT / "target" / "clients"), type=pathlib.Path)
    parser.add_argument("--only", default="", help="rows whose client or model contains this word")
    parser.add_argument("--install", action="store_true", help="install the packages and stop")
    parser.add_argument("--write", action="store_true", help="put the table into docs/clients.md")
    options = parser.parse_args()
    home = options.home.resolve()
    install(home)
    if options.install:
        return
    wires = simulators(options.think)
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="think-clients-"))
    sim, gateway = Server(options.think, "sim", scratch), Server(options.think, "serve", scratch)
    agents, results = Agents(home, scratch), []
    try:
        for client, wire, models in ROWS:
            for model in models:
                if options.only not in client and options.only not in model:
                    continue
                direct = None
                if wires[model] == wire:
                    direct = attempt(home, agents, client, f"{sim.base}/{model}", model)
                before = gateway.counts()
                through = attempt(home, agents, client, gateway.base, f"sim/{model}", gateway.key())
                counts = {name: count - before.get(name, 0) for name, count in gateway.counts().items()}
                thoughts = ", ".join(f"{count} {name}" for name, count in sorted(counts.items()) if count)
                results.append((client, model, direct, through))
                print(f"{client:24} {model:24} {shown(direct):12} {shown(through):8} {thoughts}", flush=True)
                for name, result in (("directly", direct), ("gateway", through)):
                    if result and not result["ok"]:
                        print(f"    {name}: {why(result)}", flush=True)
    finally:
        sim.stop()
        gateway.stop()
        shutil.rmtree(scratch, ignore_errors=True)
    if options.write:
        write(table(results))
    failed = [row for row in results if not row[3]["ok"]]
    print(f"{len(results) - len(failed)} of {len(results)} pass through the gateway")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
