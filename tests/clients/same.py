#!/usr/bin/env python3
"""SDKs see no difference: recorded answers, read by the official SDKs directly and through the gateway.

    python3 tests/clients/run.py --install
    target/clients/py/bin/python tests/clients/same.py --corpus FOLDER [--think BINARY] [--only WORD]

A mock upstream gives each recorded body byte for byte; which one the model's name says. The SDK's objects must be deeply
equal, and for streams there must be as many of them. Where an endpoint's own ids of calls say too little, or it gives
none, the gateway gives tickets in their place: such an id may differ, and nothing else.
"""

import argparse
import http.server
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
# The corpus' name of the API, and the built-in provider whose rules hold.
PROVIDERS = {
    "openai-chat": "deepseek",
    "openai-responses": "openai",
    "anthropic-messages": "anthropic",
    "gemini": "google",
    "ollama": "ollama",
}


def load(corpus):
    """Every recorded exchange of the five APIs, by a name that any path can hold."""
    cases = {}
    manifest = json.loads((corpus / "manifest.json").read_text())
    for entry in manifest["cases"] if isinstance(manifest, dict) else manifest:
        folder = corpus / entry["dir"]
        meta = json.loads((folder / "meta.json").read_text())
        if meta["api"] in PROVIDERS:
            cases[f"case-{len(cases)}"] = (entry["id"], meta, (folder / "response.bin").read_bytes())
    return cases


class Upstream(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    cases = {}

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        name = next((part for part in self.path.replace(":", "/").split("/") if part in self.cases), None)
        name = name or json.loads(body).get("model")
        _, meta, answer = self.cases[name]
        self.send_response(meta.get("status") or 200)
        self.send_header("content-type", meta.get("content_type") or "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)


def plain(value):
    """An SDK's object as JSON, with what the SDK keeps beside its own fields."""
    dump = getattr(value, "model_dump", None)
    return dump(mode="json", warnings=False) if dump else value


def read_chat(base, model, stream):
    from openai import OpenAI

    client = OpenAI(base_url=f"{base}/v1", api_key="k", max_retries=0)
    said = [{"role": "user", "content": "hi"}]
    answer = client.chat.completions.create(model=model, messages=said, stream=stream)
    return [plain(chunk) for chunk in answer] if stream else plain(answer)


def read_responses(base, model, stream):
    from openai import OpenAI

    client = OpenAI(base_url=f"{base}/v1", api_key="k", max_retries=0)
    answer = client.responses.create(model=model, input="hi", store=False, stream=stream)
    return [plain(event) for event in answer] if stream else plain(answer)


def read_messages(base, model, stream):
    from anthropic import Anthropic

    client = Anthropic(base_url=base, api_key="k", max_retries=0)
    said = [{"role": "user", "content": "hi"}]
    answer = client.messages.create(model=model, max_tokens=100, messages=said, stream=stream)
    return [plain(event) for event in answer] if stream else plain(answer)


def read_gemini(base, model, stream):
    from google import genai
    from google.genai import types

    client = genai.Client(api_key="k", http_options=types.HttpOptions(base_url=base))

    def shown(answer):
        found = plain(answer)
        # The SDK notes the headers of HTTP here, which are the gateway's own.
        found.pop("sdk_http_response", None)
        return found

    if stream:
        return [shown(chunk) for chunk in client.models.generate_content_stream(model=model, contents="hi")]
    return shown(client.models.generate_content(model=model, contents="hi"))


def read_ollama(base, model, stream):
    import httpx

    body = {"model": model, "stream": stream, "messages": [{"role": "user", "content": "hi"}]}
    answer = httpx.post(f"{base}/api/chat", json=body, headers={"authorization": "Bearer k"})
    return [answer.status_code, *(json.loads(line) for line in answer.text.splitlines() if line.strip())]


READERS = {
    "openai-chat": read_chat,
    "openai-responses": read_responses,
    "anthropic-messages": read_messages,
    "gemini": read_gemini,
    "ollama": read_ollama,
}


def outcome(read, base, model, stream):
    """What the SDK gives, or how it fails."""
    try:
        return read(base, model, stream)
    except Exception as error:
        body = getattr(error, "body", None) or getattr(error, "details", None)
        text = "" if body else str(error)
        return {"error": type(error).__name__, "status": getattr(error, "status_code", None), "body": body, "text": text}


def but_for_tickets(direct, through):
    """What came through the gateway, with the provider's own ids, or none, in the places of its tickets."""
    if isinstance(direct, dict) and isinstance(through, dict):
        kept = {key: but_for_tickets(direct.get(key), value) for key, value in through.items()}
        # An API that knows no ids has no member for one.
        return {key: value for key, value in kept.items() if key in direct or not is_ticket(through[key])}
    if isinstance(direct, list) and isinstance(through, list) and len(direct) == len(through):
        return [but_for_tickets(one, other) for one, other in zip(direct, through)]
    return direct if is_ticket(through) and (direct is None or isinstance(direct, str)) else through


def is_ticket(value):
    return isinstance(value, str) and value.startswith("tk_") and len(value) == 25


def gateway(think, upstream, folder):
    config = folder / "config.toml"
    lines = []
    for api, provider in PROVIDERS.items():
        version = "/v1" if api in ("openai-chat", "openai-responses") else ""
        wire = {"openai-chat": "chat-completions", "openai-responses": "responses"}.get(api)
        lines += [f"[providers.{api}]", f'extends = "{provider}"', f'base_url = "{upstream}{version}"', 'api_key = "k"']
        lines += [f'wire = "{wire}"'] if wire else []
    config.write_text("\n".join(lines) + "\n")
    env = dict(os.environ, XDG_DATA_HOME=str(folder), XDG_STATE_HOME=str(folder), XDG_CONFIG_HOME=str(folder))
    process = subprocess.Popen(
        [think, "serve", "--config", str(config), "--listen", "127.0.0.1:0"],
        stdout=subprocess.PIPE, stderr=open(folder / "log", "w"), env=env, text=True,
    )
    line = process.stdout.readline().strip()
    if not line.startswith("listening on "):
        sys.exit(f"the gateway did not start: {(folder / 'log').read_text()}")
    return process, line.removeprefix("listening on ")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=pathlib.Path, required=True)
    parser.add_argument("--think", default=str(ROOT / "target" / "release" / "think"))
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    Upstream.cases = load(options.corpus)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Upstream)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    direct = f"http://127.0.0.1:{server.server_port}"
    folder = pathlib.Path(tempfile.mkdtemp(prefix="think-same-"))
    process, through = gateway(options.think, direct, folder)
    same, different = {}, []
    try:
        for name, (case, meta, _) in Upstream.cases.items():
            api = meta["api"]
            if options.only not in case and options.only not in api:
                continue
            read, stream = READERS[api], bool(meta["streaming"])
            first = outcome(read, direct, name, stream)
            second = outcome(read, through, f"{api}/{name}", stream)
            if first == but_for_tickets(first, second):
                same[api] = same.get(api, 0) + 1
            else:
                different.append((api, case, first, second))
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=60)
    for api, count in sorted(same.items()):
        print(f"{api:20} {count:4} the same")
    for api, case, first, second in different:
        print(f"DIFFERENT {api} {case}\n   directly: {json.dumps(first, default=str)[:300]}\n"
              f"   gateway:  {json.dumps(second, default=str)[:300]}")
    print(f"{sum(same.values())} the same, {len(different)} different")
    sys.exit(1 if different else 0)


if __name__ == "__main__":
    main()
