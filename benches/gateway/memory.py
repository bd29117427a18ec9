#!/usr/bin/env python3
"""What the memory of `think serve` comes back to after a load, under one allocator or another.

    cargo build --workspace
    python3 benches/gateway/memory.py [--think BINARY] [--load NAME ...] [--env NAME=VALUE ...] [--wait SECONDS]

Each load meets a new process: resident memory before, at most, and 3, 15, 30 and 60 s after its last answer, in MiB.
`--env LD_PRELOAD=FILE` puts an allocator before the program, so that C code uses it as well. The upstream is a thread of
this script, but for `records`, which the simulated `kimi-k2` inside the process answers. Sizes say something on a machine
that is shared; times only within one run.

    large    eight bodies of 30 MiB at once, `max_bytes_in_flight = "128MiB"` (those who find no room hear 503)
    parts    twice two bodies at once of 200,000 parts each, near the caps
    burst    four times six such bodies at once
    mix      `burst`, beside `streams` and 3,200 requests whose thoughts are stored
    streams  2,000 small requests, streamed, over 64 connections
    records  10,000 small requests whose thoughts are stored, over 8 connections
    thought  one answer with a thought of 128 MiB, streamed, which is stored
"""

import argparse
import concurrent.futures
import http.client
import http.server
import json
import os
import pathlib
import re
import resource
import socket
import subprocess
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MIB = 1024 * 1024


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def figure(pid, name):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(rf"{name}:\s+(\d+)", status).group(1)) / 1024


def cpu(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


class Upstream(http.server.BaseHTTPRequestHandler):
    """A chat completion of two words."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def do_POST(self):
        left = int(self.headers["content-length"])
        body = b""
        while left:
            body = self.rfile.read(min(left, MIB))
            left -= len(body)
        if b'"thinks"' in body:
            self.think(THOUGHT)
            return
        chunks = [{"choices": [{"index": 0, "delta": {"content": word}}]} for word in ("Hello", " there")]
        chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        body = "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def think(self, size):
        """A thought of so many bytes, in pieces of 16 KiB, and a word behind it."""
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        piece = "What follows from this, and what does not? " * 381

        def chunk(delta, reason=None):
            line = {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
            return f"data: {json.dumps(line)}\n\n".encode()

        thought = chunk({"reasoning_content": piece})
        for _ in range(size // len(piece)):
            self.wfile.write(thought)
        self.wfile.write(chunk({"content": "So."}) + chunk({}, "stop") + b"data: [DONE]\n\n")
        self.close_connection = True

    def log_message(self, *_):
        pass


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True


def request(content, model="there/m", stream=True):
    return {"model": model, "stream": stream, "messages": [{"role": "user", "content": content}]}


def ask(port, body, count=1):
    """The statuses of so many requests over one connection."""
    statuses, connection = [], None
    for number in range(count):
        text = body if isinstance(body, bytes) else json.dumps(body(number)).encode()
        try:
            connection = connection or http.client.HTTPConnection("127.0.0.1", port, timeout=300)
            connection.request("POST", "/v1/chat/completions", text, {"content-type": "application/json"})
            answer = connection.getresponse()
            while answer.read(MIB):
                pass
            statuses.append(answer.status)
        except OSError:
            # Who is refused before all was read may see no answer at all.
            statuses.append(0)
            connection = None
    return statuses


def at_once(callers, port, body, count=1):
    with concurrent.futures.ThreadPoolExecutor(callers) as pool:
        every = [pool.submit(ask, port, body, count) for _ in range(callers)]
        return [status for one in every for status in one.result()]


def large(port):
    return at_once(8, port, json.dumps(request("a" * 30 * MIB)).encode())


def parts(port, callers=2, rounds=2):
    one = {"role": "user", "content": [{"type": "text", "text": "a"}] * 2000}
    body = json.dumps({"model": "there/m", "stream": True, "messages": [one] * 100}).encode()
    return [status for _ in range(rounds) for status in at_once(callers, port, body)]


def burst(port):
    return parts(port, 6, 4)


def streams(port):
    body = json.dumps(request("What is the capital of France? " * 8)).encode()
    return at_once(64, port, body, 2000 // 64 + 1)


def records(port, count=1250):
    def body(number):
        return request(f"Question {os.urandom(8).hex()} {number}", "sim/kimi-k2", False)

    return at_once(8, port, body, count)


def thought(port):
    return ask(port, json.dumps(request("Think.", "there/thinks")).encode())


def mix(port):
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        every = [pool.submit(burst, port), pool.submit(streams, port), pool.submit(records, port, 400)]
        return [status for one in every for status in one.result()]


THOUGHT = 128 * MIB
ROOM = 'max_bytes_in_flight = "1GiB"'
LOADS = {"large": (large, 'max_bytes_in_flight = "128MiB"'), "parts": (parts, ROOM), "burst": (burst, ROOM),
         "mix": (mix, ROOM), "streams": (streams, ""), "records": (records, ""), "thought": (thought, ROOM)}


def measure(think, name, env, wait):
    load, setting = LOADS[name]
    port, upstream = free_port(), Server(("127.0.0.1", 0), Upstream)
    threading.Thread(target=upstream.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as place:
        config = pathlib.Path(place) / "config.toml"
        config.write_text(f"[server]\n{setting}\n[providers.there]\nwire = \"chat-completions\"\napi_key = \"theirs\"\n"
                          f"base_url = \"http://127.0.0.1:{upstream.server_port}\"\n"
                          "contract = { return = \"all\", field = \"reasoning_content\" }\n")
        home = {"HOME": place, "XDG_CONFIG_HOME": place, "XDG_DATA_HOME": place, "PATH": os.environ["PATH"]}
        process = subprocess.Popen([think, "serve", "--listen", f"127.0.0.1:{port}", "--config", config],
                                   env=home | env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            for _ in range(1000):
                with socket.socket() as s:
                    if s.connect_ex(("127.0.0.1", port)) == 0:
                        break
                time.sleep(0.01)
            for _ in range(100):
                connection = http.client.HTTPConnection("127.0.0.1", port)
                connection.request("GET", "/livez")
                connection.getresponse().read()
            idle, began, worked = figure(process.pid, "VmRSS"), time.monotonic(), cpu(process.pid)
            statuses = load(port)
            over = time.monotonic()
            worked = cpu(process.pid) - worked
            line = f"{name:8} idle {idle:4.0f}   at most {figure(process.pid, 'VmHWM'):4.0f}"
            for after in (3, 15, 30, 60):
                if after > wait:
                    break
                time.sleep(max(0, over + after - time.monotonic()))
                line += f"   {after} s {figure(process.pid, 'VmRSS'):4.0f}"
            count = {status: statuses.count(status) for status in sorted(set(statuses))}
            print(f"{line}   {over - began:6.1f} s, {worked:6.1f} s of CPU   {count}", flush=True)
        finally:
            process.terminate()
            process.wait()
            upstream.shutdown()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--think", default=ROOT / "target/debug/think")
    parser.add_argument("--load", nargs="*", choices=list(LOADS), default=list(LOADS))
    parser.add_argument("--env", nargs="*", default=[])
    parser.add_argument("--wait", type=int, default=60)
    args = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
    env = dict(pair.split("=", 1) for pair in args.env)
    for name in args.load:
        measure(args.think, name, env, args.wait)


if __name__ == "__main__":
    main()
