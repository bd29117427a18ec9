#!/usr/bin/env python3
"""How many instructions of user code a small request costs the gateway, one request after the other.

    cargo build --release
    python3 benches/gateway/instructions.py [--think BINARY] [--requests N] [--out FILE] [--functions N]

Time is too noisy on small machines; valgrind's callgrind counts instead. The threads that serve requests are told from
those of the store, which write behind them: what a request's own connection pays is the first number. Each case is a
gateway of its own, with a store in a file. Needs valgrind (Debian's package).
"""

import argparse
import collections
import http.client
import http.server
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
THOUGHT = "The user says hello, so I greet back. " * 8
# Model, whether the answer has a thought, and the configuration of the traces.
CASES = (
    ("no thought, no traces", "plain", "[traces]\nenabled = false\n"),
    ("no thought, a trace", "plain", ""),
    ("a thought, no traces", "thinks", "[traces]\nenabled = false\n"),
    ("a thought, a trace", "thinks", ""),
)


class Mock(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        message = {"role": "assistant", "content": "Hello there."}
        if self.path.startswith("/thought"):
            message["reasoning_content"] = THOUGHT
        body = json.dumps({
            "id": "c1", "object": "chat.completion", "created": 1, "model": "m",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def gateway(think, folder, port, store):
    config = folder / "config.toml"
    config.write_text(
        f'{store}[providers.plain]\nwire = "chat-completions"\nbase_url = "http://127.0.0.1:{port}/plain/v1"\n'
        'api_key = "k"\n[providers.thinks]\nextends = "deepseek"\n'
        f'base_url = "http://127.0.0.1:{port}/thought/v1"\napi_key = "k"\n'
        '[models.plain]\nprovider = "plain"\nmodel = "m"\n'
        '[models.thinks]\nprovider = "thinks"\nmodel = "deepseek-chat"\n')
    env = dict(os.environ, XDG_DATA_HOME=str(folder), XDG_STATE_HOME=str(folder), XDG_CONFIG_HOME=str(folder))
    command = ["valgrind", "--tool=callgrind", "--instr-atstart=no", "--separate-threads=yes",
               f"--callgrind-out-file={folder}/count", f"--log-file={folder}/valgrind.log",
               think, "serve", "--config", str(config), "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=open(folder / "gateway.log", "w"), env=env, text=True)
    line = process.stdout.readline()
    if "listening on" not in line:
        sys.exit(f"the gateway did not start: {(folder / 'gateway.log').read_text()}")
    return process, int(line.rsplit(":", 1)[1])


def ask(connection, model, number):
    body = json.dumps({"model": model, "messages": [{"role": "user", "content": f"hello {number}"}]})
    connection.request("POST", "/v1/chat/completions", body, {"content-type": "application/json"})
    answer = connection.getresponse()
    said = answer.read()
    if answer.status != 200:
        sys.exit(f"the gateway said {answer.status}: {said[:500]}")


def counting(process, is_on):
    subprocess.run(["callgrind_control", "-i", "on" if is_on else "off", str(process.pid)],
                   check=True, capture_output=True)


def by_thread(folder):
    """Instructions of each thread, and what of them is the store's."""
    total, functions = collections.Counter(), collections.Counter()
    for path in folder.glob("count*-*"):
        text = path.read_text(errors="replace")
        found = re.search(r"^totals: (\d+)", text, re.M)
        if not found or not int(found.group(1)):
            continue
        annotated = subprocess.run(["callgrind_annotate", "--threshold=100", str(path)], capture_output=True, text=True)
        own = collections.Counter()
        for line in annotated.stdout.splitlines():
            row = re.match(r"\s*([\d,]+) \(\s*[\d.]+%\)\s+(\S.*)", line)
            if row and not row.group(2).startswith(("=>", "PROGRAM")):
                own[row.group(2).split(" [")[0].split(":", 1)[-1]] += int(row.group(1).replace(",", ""))
        serves = sum(count for name, count in own.items() if "hyper" in name or "http" in name)
        total["serving" if serves > int(found.group(1)) // 100 else "behind"] += int(found.group(1))
        functions += own
    return total, functions


def measure(options, port, model, store):
    folder = pathlib.Path(tempfile.mkdtemp(prefix="think-count-"))
    try:
        process, listens = gateway(options.think, folder, port, store)
        connection = http.client.HTTPConnection("127.0.0.1", listens)
        for number in range(50):
            ask(connection, model, number)
        time.sleep(2)
        counting(process, True)
        for number in range(options.requests):
            ask(connection, model, 1000 + number)
        # What is written behind the requests belongs to them.
        time.sleep(3)
        counting(process, False)
        process.send_signal(signal.SIGTERM)
        process.wait(timeout=120)
        return by_thread(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--think", default=str(ROOT / "target" / "release" / "think"))
    parser.add_argument("--requests", type=int, default=500)
    parser.add_argument("--functions", type=int, default=0, help="how many of the dearest functions are listed")
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Mock)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    lines = [f"thinkthrough gateway, {time.strftime('%Y-%m-%d')}, thousands of instructions of user code a request, "
             f"{options.requests} requests one after the other, valgrind's callgrind"]
    print(lines[0], flush=True)
    for title, model, store in CASES:
        total, functions = measure(options, server.server_port, model, store)
        each = {who: total[who] / options.requests / 1000 for who in ("serving", "behind")}
        rows = [f"  {title:24} serving threads {each['serving']:7.1f}   store's threads {each['behind']:7.1f}"]
        for name, count in functions.most_common(options.functions):
            rows.append(f"      {count / options.requests / 1000:7.1f}  {name[:100]}")
        print("\n".join(rows), flush=True)
        lines += rows
    if options.out:
        options.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
