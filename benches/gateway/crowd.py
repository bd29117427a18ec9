#!/usr/bin/env python3
"""Memory of `think serve` under a crowd of callers whose answers are kept.

    cargo build --release
    benches/gateway/crowd.py [--think BINARY] [--load NAME ...] [--limit MIB] [--wait SECONDS] [--env NAME=VALUE ...]

Each load meets a new process. With `--limit` the process runs in a memory control group of that size (version 1 or 2,
as root), and takes its `max_bytes_in_flight` from it. The upstream and the callers are this script; thoughts are drawn
text, which the gateway keeps, not comments. The output of each load: how the answers ended, resident memory before, at
most and after the load, and what the kernel holds for the sockets of the process (`ss`). "unsaved": the answer is whole,
and its caller was told that its record is late.

    thoughts  300 callers that read at once; each thought has half a megabyte
    paced     the same, and each thought takes 15 s
    unread    1,000 callers that read nothing of thoughts without an end
    one-key   100 callers with one key that read nothing
"""

import argparse
import asyncio
import collections
import json
import os
import pathlib
import random
import re
import resource
import signal
import socket
import subprocess
import tempfile
import time
import http.client

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
KIB, MIB = 1024, 1024 * 1024
WORDS = "perhaps the answer follows from what was said before but not all of it holds so look again at each case".split()
KEY = "crowd-key-0123456789"


def text(size, seed):
    draw = random.Random(seed)
    words = " ".join(draw.choices(WORDS, k=size // 5))
    return words[:size].ljust(size, ".")


def event(delta, reason=None):
    line = {"id": "c", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}
    return f"data: {json.dumps(line)}\n\n".encode()


class Upstream:
    """Streams a thought and a word; a thought of size 0 has no end."""

    def __init__(self, size, seconds):
        self.size, self.seconds, self.sent, self.open = size, seconds, [], set()
        self.piece = [event({"reasoning_content": text(400, seed)}) for seed in range(64)]

    async def answer(self, reader, writer):
        task = asyncio.current_task()
        self.open.add(task)
        number = len(self.sent)
        self.sent.append(0)
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
            began, said = time.monotonic(), 0
            while not self.size or said < self.size:
                writer.write(self.piece[said // 400 % 64])
                said += 400
                await writer.drain()
                self.sent[number] = said
                if self.seconds and said % 8000 == 0:
                    ahead = began + self.seconds * said / self.size - time.monotonic()
                    await asyncio.sleep(max(0, ahead))
            writer.write(event({"content": "So."}) + event({}, "stop") + b"data: [DONE]\n\n")
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self.open.discard(task)
            writer.close()


async def ask(port, reads, size):
    """How one answer ended, in a word; with the connection of a caller that reads nothing."""
    body = json.dumps({"model": "there/m", "stream": True, "messages": [{"role": "user", "content": "Think."}]})
    head = (f"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {KEY}\r\n"
            f"content-type: application/json\r\ncontent-length: {len(body)}\r\nconnection: close\r\n\r\n")
    if not reads:
        # A raw socket: a stream of asyncio would read by itself.
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.setblocking(False)
        await asyncio.get_running_loop().sock_connect(sock, ("127.0.0.1", port))
        sock.send((head + body).encode())
        return sock
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write((head + body).encode())
        status = await reader.readline()
        tail, came, is_late = b"", 0, False
        while chunk := await reader.read(65536):
            came += len(chunk)
            is_late |= b"before its thoughts were saved" in tail + chunk
            tail = (tail + chunk)[-2000:]
        writer.close()
    except OSError as error:
        return f"broken ({type(error).__name__})"
    if not status.startswith(b"HTTP/1.1 200"):
        return status[9:12].decode() or "nothing"
    if b"[DONE]" in tail and came > size:
        return "whole, unsaved" if is_late else "whole"
    return "cut with an error" if b'"error"' in tail else "cut"


def figure(pid, name):
    try:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        return int(re.search(rf"{name}:\s+(\d+)", status).group(1)) / 1024
    except (OSError, AttributeError):
        return float("nan")


def group(limit):
    """A control group of so many MiB; the file that takes processes into it."""
    for place, file in ((pathlib.Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes"),
                        (pathlib.Path("/sys/fs/cgroup"), "memory.max")):
        if (place / file.replace("max", "stat").replace("limit_in_bytes", "stat")).exists():
            folder = place / "think-crowd"
            folder.mkdir(exist_ok=True)
            (folder / file).write_text(str(limit * MIB))
            return folder
    return None


def metrics(port):
    try:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        connection.request("GET", "/metrics")
        lines = connection.getresponse().read().decode().splitlines()
    except OSError:
        return {}
    found = {}
    for line in lines:
        if not line.startswith("#"):
            name, _, value = line.rpartition(" ")
            found[name.removeprefix("thinkthrough_")] = float(value)
    return found


def kernel(pid):
    """What the kernel holds for the process's sockets, in KiB, where `ss` tells."""
    try:
        lines = subprocess.run(["ss", "-tnmpO"], capture_output=True, text=True).stdout.splitlines()
    except OSError:
        return None
    held = 0
    for line in lines:
        if f"pid={pid}," in line and (memory := re.search(r"skmem:\(r(\d+),.*?,t(\d+),", line)):
            held += int(memory[1]) + int(memory[2])
    return held / 1024


LOADS = {"thoughts": (300, True, 500_000, 0), "paced": (300, True, 500_000, 15),
         "unread": (1000, False, 0, 0), "one-key": (100, False, 0, 0)}


async def settled(upstream, count):
    before = None
    for _ in range(120):
        await asyncio.sleep(1)
        if upstream.sent == before and upstream.sent:
            return
        before = list(upstream.sent)


async def measure(args, name):
    count, reads, size, seconds = LOADS[name]
    upstream = Upstream(size, seconds)
    server = await asyncio.start_server(upstream.answer, "127.0.0.1", 0, backlog=2048)
    at = server.sockets[0].getsockname()[1]
    folder = group(args.limit) if args.limit else None
    with tempfile.TemporaryDirectory() as place:
        config = pathlib.Path(place) / "config.toml"
        contract = 'contract = { return = "all", field = "reasoning_content" }\n'
        key = f'[keys.crowd]\nkey = "{KEY}"\n' if name == "one-key" else "[server]\nlog = \"off\"\n"
        config.write_text(f'{key}[providers.there]\nwire = "chat-completions"\napi_key = "theirs"\n'
                          f'base_url = "http://127.0.0.1:{at}"\n{contract}')

        def enter():
            if folder:
                (folder / "cgroup.procs").write_text(str(os.getpid()))
        env = {"HOME": place, "XDG_CONFIG_HOME": place, "XDG_DATA_HOME": place, "PATH": os.environ["PATH"], **dict(pair.split("=", 1) for pair in args.env)}
        process = subprocess.Popen([args.think, "serve", "--listen", "127.0.0.1:0", "--config", config], env=env,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, preexec_fn=enter, text=True)
        line = await asyncio.to_thread(process.stdout.readline)
        port = int(line.rsplit(":", 1)[1])
        idle = figure(process.pid, "VmRSS")
        kernel_idle = kernel(process.pid)
        began = time.monotonic()
        answers = await asyncio.gather(*(ask(port, reads, size) for _ in range(count)))
        if reads:
            ends = collections.Counter(answers)
        else:
            await settled(upstream, count)
            ends = collections.Counter({"upstream streams begun": len(upstream.sent)})
        took = time.monotonic() - began
        rss, held = figure(process.pid, "VmRSS"), kernel(process.pid)
        print(f"{name}: {count} callers, {took:.1f} s, {dict(ends)}")
        alive = process.poll() is None
        told = await asyncio.to_thread(metrics, port)
        print(f"  process {'alive' if alive else f'ended with {process.returncode}'};  resident: idle {idle:.0f} MiB, "
              f"under load {rss:.0f} MiB, at most {figure(process.pid, 'VmHWM'):.0f} MiB")
        if not reads:
            begun = max(1, len(upstream.sent))
            print(f"  each of {begun} streams: {(rss - idle) * 1024 / begun:.0f} KiB in the process, "
                  f"{'?' if held is None else f'{(held - (kernel_idle or 0)) / begun:.0f}'} KiB in the kernel; "
                  f"the upstream wrote {sum(upstream.sent) / begun / 1024:.0f} KiB of text for each")
        wanted = ("bytes_in_flight", "bytes_refused_total", "traces_lost_total", "unsaved_total", "cut_total", "streams")
        print("  " + ", ".join(f"{name} {value:.0f}" for name, value in told.items() if name.startswith(wanted) and value))
        for answer in answers:
            if not isinstance(answer, str):
                answer.close()
        since = time.monotonic()
        for after in (3, 15, 30):
            if alive and after <= args.wait:
                await asyncio.sleep(max(0, since + after - time.monotonic()))
                print(f"  {after} s later: {figure(process.pid, 'VmRSS'):.0f} MiB")
        if folder:
            for file in ("memory.max_usage_in_bytes", "memory.peak"):
                if (folder / file).exists():
                    print(f"  control group at most: {int((folder / file).read_text()) / MIB:.0f} of {args.limit} MiB")
        process.send_signal(signal.SIGKILL)
        process.wait()
        if reads and args.records:
            import sqlite3
            file = next(pathlib.Path(place).rglob("thinkthrough.db"))
            print("  records in the store:", sqlite3.connect(file).execute("select count(*) from record").fetchone())
    for task in list(upstream.open):
        task.cancel()
    server.close()
    if folder:
        await asyncio.sleep(0.5)
        folder.rmdir()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--think", default=ROOT / "target/release/think")
    parser.add_argument("--load", nargs="*", choices=list(LOADS), default=list(LOADS))
    parser.add_argument("--limit", type=int, help="a control group of so many MiB")
    parser.add_argument("--wait", type=int, default=30)
    parser.add_argument("--records", action="store_true")
    parser.add_argument("--env", nargs="*", default=[])
    args = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_NOFILE, (8192, 8192))
    for name in args.load:
        asyncio.run(measure(args, name))


main()
