#!/usr/bin/env python3
"""What the gateway costs, beside nginx as a plain proxy and a direct connection, in one run.

    cargo build --release
    python3 benches/gateway/run.py [--think BINARY] [--bare BINARY] [--seconds N] [--out FILE]

`--bare` adds a relay over the gateway's own libraries that does nothing else, which is what they cost by themselves:

    cargo build --release -p thinkthrough-gateway --example bare     # target/release/examples/bare

The gateway, nginx and that relay each have core 0 for themselves while they are measured; the mock upstream and the load share the
other core. What counts is the CPU time that the operating system charges to the proxy (user and system), divided by
requests or chunks, and its ratio to nginx: wall clock tells more about the machine than about the proxy. Needs nginx,
wrk and curl (Debian's packages of these names).
"""

import argparse
import asyncio
import json
import logging
import os
import pathlib
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TICK = os.sysconf("SC_CLK_TCK")
PLAIN = {"id": "c1", "object": "chat.completion", "created": 1, "model": "m", "choices": [
    {"index": 0, "message": {"role": "assistant", "content": "Hello there."}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 5, "completion_tokens": 3, "total_tokens": 8}}
THOUGHT = json.loads(json.dumps(PLAIN))
THOUGHT["choices"][0]["message"]["reasoning_content"] = "The user says hello, so I greet back. " * 8


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def cpu(pids):
    """User and system time of the processes in seconds."""
    total = 0
    for pid in pids:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total / TICK


def rss(pid):
    return int(re.search(r"VmRSS:\s+(\d+)", pathlib.Path(f"/proc/{pid}/status").read_text()).group(1))


def wait_for(port):
    for _ in range(400):
        try:
            socket.create_connection(("127.0.0.1", port), 0.2).close()
            return
        except OSError:
            time.sleep(0.01)
    sys.exit(f"nothing listens on port {port}")


class Nginx:
    """One worker; `body` is its configuration of the server."""

    def __init__(self, folder, name, core, servers):
        self.folder = folder / name
        self.folder.mkdir()
        conf = self.folder / "nginx.conf"
        conf.write_text(
            f"worker_processes 1; worker_cpu_affinity {'01' if core == 0 else '10'}; daemon off; pid nginx.pid;\n"
            "error_log error.log; events { worker_connections 16384; }\n"
            "http { access_log off; keepalive_requests 100000000; client_max_body_size 64m; "
            "client_body_buffer_size 4m; tcp_nodelay on;\n"
            f"client_body_temp_path {self.folder}/b; proxy_temp_path {self.folder}/p; fastcgi_temp_path {self.folder}/f;"
            f" uwsgi_temp_path {self.folder}/u; scgi_temp_path {self.folder}/s;\n{servers}\n}}\n"
        )
        self.process = subprocess.Popen(["nginx", "-p", str(self.folder), "-c", str(conf)])

    def pids(self):
        done = subprocess.run(["pgrep", "-P", str(self.process.pid)], capture_output=True, text=True)
        return [int(pid) for pid in done.stdout.split()]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


def proxy_to(listen, upstream):
    return (
        f"upstream up{listen} {{ server 127.0.0.1:{upstream}; keepalive 256; keepalive_requests 100000000; }}\n"
        f"server {{ listen 127.0.0.1:{listen}; location / {{ proxy_pass http://up{listen}; proxy_http_version 1.1; "
        'proxy_set_header Connection ""; proxy_buffering off; proxy_request_buffering off; proxy_read_timeout 600s; } }'
    )


class Gateway:
    def __init__(self, think, folder, upstream, streams):
        home = folder / "home"
        home.mkdir()
        config = folder / "config.toml"
        config.write_text(
            f'[providers.plain]\nwire = "chat-completions"\nbase_url = "http://127.0.0.1:{upstream}/plain/v1"\n'
            f'api_key = "k"\n[providers.thinks]\nextends = "deepseek"\n'
            f'base_url = "http://127.0.0.1:{upstream}/thought/v1"\napi_key = "k"\n'
            f'[providers.streams]\nwire = "chat-completions"\nbase_url = "http://127.0.0.1:{streams}/v1"\napi_key = "k"\n'
            f'[providers.thinkstreams]\nextends = "deepseek"\nbase_url = "http://127.0.0.1:{streams}/v1"\napi_key = "k"\n'
            '[models.plain]\nprovider = "plain"\nmodel = "m"\n[models.thinks]\nprovider = "thinks"\nmodel = "deepseek-chat"\n'
            '[models.streams]\nprovider = "streams"\nmodel = "m"\n'
            '[models.thinkstreams]\nprovider = "thinkstreams"\nmodel = "deepseek-chat"\n'
        )
        env = dict(os.environ, XDG_DATA_HOME=str(home), XDG_STATE_HOME=str(home), XDG_CONFIG_HOME=str(home))
        began = time.perf_counter()
        self.process = subprocess.Popen(
            ["taskset", "-c", "0", think, "serve", "--config", str(config), "--listen", "127.0.0.1:0"],
            stdout=subprocess.PIPE, stderr=open(folder / "gateway.log", "w"), env=env, text=True,
        )
        line = self.process.stdout.readline()
        self.ready = time.perf_counter() - began
        if "listening on" not in line:
            sys.exit(f"the gateway did not start: {(folder / 'gateway.log').read_text()}")
        self.port = int(line.rsplit(":", 1)[1])

    def pids(self):
        return [self.process.pid]

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=60)


class Bare:
    """A relay to one upstream that does nothing but relay."""

    def __init__(self, binary, upstream):
        command = ["taskset", "-c", "0", binary, f"127.0.0.1:{upstream}"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline().rsplit(":", 1)[1])

    def pids(self):
        return [self.process.pid]

    def stop(self):
        self.process.kill()
        self.process.wait()


def wrk(port, path, body, seconds, connections, folder, pause=0):
    """Requests as fast as they are answered, or with a pause of so many milliseconds before each."""
    script = folder / "post.lua"
    delay = f"delay = function() return math.random(0, {2 * pause}) end\n" if pause else ""
    script.write_text(
        delay +
        'wrk.method = "POST"\nwrk.headers["content-type"] = "application/json"\n'
        'wrk.headers["authorization"] = "Bearer client"\n'
        f'local file = io.open("{folder}/body.json"); wrk.body = file:read("*a"); file:close()\n'
        'done = function(s, l, r) io.write(string.format("RESULT %d %d %d %d %d\\n", s.requests, s.duration, '
        'l:percentile(50), l:percentile(99), s.errors.status + s.errors.read + s.errors.timeout)) end\n'
    )
    (folder / "body.json").write_text(body)
    command = ["taskset", "-c", "1", "wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", str(script),
               f"http://127.0.0.1:{port}{path}"]
    out = subprocess.run(command, capture_output=True, text=True).stdout
    found = re.search(r"RESULT (\d+) (\d+) (\d+) (\d+) (\d+)", out)
    if not found:
        sys.exit(f"wrk said: {out}")
    requests, _, p50, p99, errors = map(int, found.groups())
    return {"requests": requests, "p50_us": p50, "p99_us": p99, "errors": errors}


def measured(proxy, run):
    """What `run` gives, with the CPU time of `proxy` per request."""
    before = cpu(proxy.pids()) if proxy else 0
    result = run()
    if proxy:
        result["cpu_us"] = (cpu(proxy.pids()) - before) * 1e6 / max(1, result["requests"])
    return result


def requests_case(name, bodies, ways, seconds, folder, connections, pause=0):
    rows = {}
    for way, proxy, port, path, body in ways(bodies):
        wrk(port, path, body, 1, connections, folder)
        rows[way] = measured(proxy, lambda: wrk(port, path, body, seconds, connections, folder, pause))
    return name, rows


def half_of_the_load(gateway, body, seconds, folder):
    """The milliseconds between two requests of each of 64 connections with which they are half as many as are answered
    when nobody pauses."""
    most = wrk(gateway.port, "/v1/chat/completions", body, seconds, 16, folder)["requests"] / seconds
    return max(1, round(64 / (most / 2) * 1000))


async def mock_streams(port, stop):
    """A streaming upstream: the user in the request says how many chunks, how far apart in milliseconds, and how many of
    them come at once."""
    # Readers that leave in the middle are a part of it.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"

    def event(field, text):
        delta = json.dumps({"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [
            {"index": 0, "delta": {field: text}, "finish_reason": None}]})
        data = f"data: {delta}\n\n".encode()
        return b"%x\r\n%s\r\n" % (len(data), data)

    chunk = {"plain": event("content", "some words here "), "thought": event("reasoning_content", "some words here ")}
    end = (event("content", "end"), b'data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"m",'
           b'"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n')

    async def serve(reader, writer):
        try:
            while True:
                request = await reader.readuntil(b"\r\n\r\n")
                length = int(re.search(rb"content-length: (\d+)", request, re.I).group(1))
                body = json.loads(await reader.readexactly(length))
                kind, count, gap, batch = body["user"].split("/")
                writer.write(head)
                some = chunk[kind] * int(batch)
                for _ in range(int(count) // int(batch)):
                    writer.write(some)
                    if float(gap):
                        await asyncio.sleep(float(gap) / 1000)
                    else:
                        await writer.drain()
                        await asyncio.sleep(0)
                writer.write(end[0] + b"%x\r\n%s\r\n0\r\n\r\n" % (len(end[1]), end[1]))
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", port, backlog=8192)
    await stop.wait()
    server.close()


def stream_body(model, kind, count, gap, batch=1):
    messages = [{"role": "user", "content": "hello"}]
    return json.dumps({"model": model, "stream": True, "user": f"{kind}/{count}/{gap}/{batch}", "messages": messages})


def streams_case(proxy, port, model, kind, count, gap, batch, parallel, folder):
    body = folder / "stream.json"
    body.write_text(stream_body(model, kind, count, gap, batch))
    command = ["taskset", "-c", "1", "curl", "-s", "-o", "/dev/null", "-N", "-H", "content-type: application/json", "-H",
               "authorization: Bearer client", "--data-binary", f"@{body}", f"http://127.0.0.1:{port}/v1/chat/completions"]

    def run():
        running = [subprocess.Popen(command) for _ in range(parallel)]
        for one in running:
            one.wait()
        return {"requests": count * parallel}

    return measured(proxy, run)


async def hold(port, model, count, gap=5000):
    """Opens streams and leaves them open."""
    body = stream_body(model, "plain", 100000, gap).encode()
    head = (f"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
            f"authorization: Bearer client\r\ncontent-length: {len(body)}\r\n\r\n").encode()
    held = []
    for _ in range(count):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        began = time.perf_counter()
        writer.write(head + body)
        await reader.readuntil(b"some words")
        held.append((reader, writer, time.perf_counter() - began))
    return held


def first_delta_case(port, model):
    """Milliseconds until the first delta of a stream, beside 64 that are under way: median and 99 of 100."""
    async def run():
        beside = await hold(port, model, 64, 50)
        times = []
        for _ in range(300):
            (_, writer, took), = await hold(port, model, 1)
            writer.close()
            times.append(took * 1000)
        for _, writer, _ in beside:
            writer.close()
        times.sort()
        return times[len(times) // 2], times[len(times) * 99 // 100]

    return asyncio.run(run())


def memory_case(proxy, port, model, counts):
    """KiB for each stream when so many of them live. The first ones warm up; no stream ends before all are counted, for
    what ended ones leave behind would be used again and look like nothing."""
    async def run():
        held = await hold(port, model, 20)
        before = sum(rss(pid) for pid in proxy.pids())
        sizes = []
        for count in counts:
            held += await hold(port, model, count + 20 - len(held))
            sizes.append((sum(rss(pid) for pid in proxy.pids()) - before) / count)
        for _, writer, _ in held:
            writer.close()
        return sizes

    return asyncio.run(run())


def conversation(size, messages, model):
    text = "x" * (size // messages)
    said = [{"role": "user" if at % 2 == 0 else "assistant", "content": f"{at} {text}"} for at in range(messages - 1)]
    if len(said) % 2:
        said.append({"role": "assistant", "content": "well"})
    said.append({"role": "user", "content": "and now?"})
    return json.dumps({"model": model, "messages": said})


def report(lines, title, rows, per):
    lines.append(f"\n{title}")
    base = rows.get("nginx", {}).get("cpu_us")
    for way, row in rows.items():
        cost = f"{row['cpu_us']:9.2f} us CPU/{per}" if "cpu_us" in row else " " * 20
        ratio = f"  {row['cpu_us'] / base:5.2f} x nginx" if base and "cpu_us" in row else ""
        times = f"  p50 {row['p50_us']:6d} us  p99 {row['p99_us']:6d} us" if "p50_us" in row else ""
        errors = f"  {row['errors']} errors" if row.get("errors") else ""
        lines.append(f"  {way:10} {row['requests']:8d} {per}s {cost}{ratio}{times}{errors}")
    print("\n".join(lines[-len(rows) - 1:]), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--think", default=str(ROOT / "target" / "release" / "think"))
    parser.add_argument("--bare", help="the relay that does nothing else, measured as well")
    parser.add_argument("--seconds", type=int, default=5)
    parser.add_argument("--only", help="cases with this word in their title")
    parser.add_argument("--out", type=pathlib.Path)
    options = parser.parse_args()

    def wanted(title):
        return not options.only or options.only in title

    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    folder = pathlib.Path(tempfile.mkdtemp(prefix="think-bench-"))
    mock, proxy_port, stream_mock, stream_proxy = (free_port() for _ in range(4))
    replies = "".join(
        f"location /{name}/ {{ default_type application/json; return 200 '{json.dumps(reply)}'; }}\n"
        for name, reply in (("plain", PLAIN), ("thought", THOUGHT))
    )
    upstream = Nginx(folder, "mock", 1, f"server {{ listen 127.0.0.1:{mock}; {replies} }}")
    plain = Nginx(folder, "proxy", 0, proxy_to(proxy_port, mock) + proxy_to(stream_proxy, stream_mock))
    script = f"import asyncio, runpy; m = runpy.run_path({str(HERE / 'run.py')!r}); asyncio.run(m['mock_streams']({stream_mock}, asyncio.Event()))"
    streaming = subprocess.Popen(["taskset", "-c", "1", sys.executable, "-c", script])
    for port in (mock, proxy_port, stream_mock, stream_proxy):
        wait_for(port)
    gateway = Gateway(options.think, folder, mock, stream_mock)
    bare, stream_bare = (options.bare and Bare(options.bare, port) for port in (mock, stream_mock))
    load = os.getloadavg()[0]
    lines = [f"thinkthrough gateway, {time.strftime('%Y-%m-%d')}, 2 cores, load before {load:.2f}, {options.seconds} s a case",
             f"ready in {gateway.ready * 1000:.0f} ms, idle {rss(gateway.process.pid) / 1024:.1f} MiB"]
    print("\n".join(lines), flush=True)
    small = json.dumps({"model": "NAME", "messages": [{"role": "user", "content": "hello"}]})

    def ways(kind):
        def each(body):
            model = {"plain": "plain", "thought": "thinks"}[kind]
            named = body.replace("NAME", "m" if kind == "plain" else "deepseek-chat")
            path = f"/{kind}/v1/chat/completions"
            yield "direct", None, mock, path, named
            yield "nginx", plain, proxy_port, path, named
            if bare:
                yield "bare", bare, bare.port, path, named
            yield "think", gateway, gateway.port, "/v1/chat/completions", body.replace("NAME", model)
        return each

    def streamed(model):
        yield "nginx", plain, stream_proxy, "m"
        if bare:
            yield "bare", stream_bare, stream_bare.port, "m"
        yield "think", gateway, gateway.port, model

    try:
        for title, kind, body, connections in (
            ("small requests, nothing to record, 16 connections", "plain", small, 16),
            ("small requests, a thought recorded, 16 connections", "thought", small, 16),
            ("small requests, nothing to record, 1 connection", "plain", small, 1),
            ("conversation of 1 MB, 100 messages, 1 connection", "plain", conversation(1_000_000, 100, "NAME"), 1),
            ("conversation of 1 MB, 100 messages, looked up, 1 connection", "thought", conversation(1_000_000, 100, "NAME"), 1),
        ):
            if not wanted(title):
                continue
            name, rows = requests_case(title, body, ways(kind), options.seconds, folder, connections)
            report(lines, name, rows, "request")
        title = "small requests, nothing to record, at half of the load that the gateway takes"
        if wanted(title):
            pause = half_of_the_load(gateway, small.replace("NAME", "plain"), options.seconds, folder)
            # The beginning, when all 64 ask at once, is to be less than a hundredth of all.
            longer = 5 * options.seconds
            half = requests_case(f"{title} ({pause} ms between two)", small, ways("plain"), longer, folder, 64, pause)
            report(lines, *half, "request")
        for title, kind, count, gap, batch, parallel in (
            ("chunks in bursts of 100", "plain", 400000, 0, 100, 2),
            ("chunks in bursts of 100, thoughts captured", "thought", 400000, 0, 100, 2),
            ("chunks one by one, as fast as they come", "plain", 40000, 0, 1, 2),
            ("chunks one by one, as fast as they come, thoughts captured", "thought", 40000, 0, 1, 2),
            ("chunks paced 5 ms apart, 32 streams", "plain", 600, 5, 1, 32),
            ("chunks paced 5 ms apart, 32 streams, thoughts captured", "thought", 600, 5, 1, 32),
        ):
            if not wanted(title):
                continue
            model = "streams" if kind == "plain" else "thinkstreams"
            rows = {way: streams_case(proxy, port, name, kind, count, gap, batch, parallel, folder)
                    for way, proxy, port, name in streamed(model)}
            report(lines, title, rows, "chunk")
        title = "first delta of a stream beside 64 others"
        lines.append(f"\n{title}")
        for way, _, port, model in [("direct", None, stream_mock, "m"), *streamed("streams")]:
            if not wanted(title):
                continue
            lines.append("  {:10} p50 {:6.2f} ms  p99 {:6.2f} ms".format(way, *first_delta_case(port, model)))
            print(lines[-1], flush=True)
        lines.append("\nmemory")
        counts = (1000, 3000, 5000)
        for way, proxy, port, model in streamed("streams"):
            for count, size in zip(counts, memory_case(proxy, port, model, counts) if wanted("memory") else ()):
                lines.append(f"  {way:10} {size:6.1f} KiB per live stream at {count}")
                print(lines[-1], flush=True)
    finally:
        streaming.kill()
        for proxy in filter(None, (gateway, bare, stream_bare)):
            proxy.stop()
        upstream.stop()
        plain.stop()
        shutil.rmtree(folder, ignore_errors=True)
    if options.out:
        options.out.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
