#!/usr/bin/env python3
"""What a shared limit and a shared budget add to a request that is let out within what its gateway holds.

Two keys of one gateway on a PostgreSQL server ask the same model of the same simulator, one after the other over one
connection each: one has a limit and a budget that are never reached, the other has neither. What the first one takes
longer is what the slice costs.

    benches/gateway/limits.py THINK postgres://user@host/database [REQUESTS]
"""

import http.client
import json
import os
import subprocess
import sys
import tempfile
import time

WARM = 200


def start(think, arguments, folder):
    """A process of the program, and the address that it listens on."""
    environment = {**os.environ, "HOME": folder, "XDG_CONFIG_HOME": folder, "XDG_DATA_HOME": folder}
    process = subprocess.Popen([think, *arguments], cwd=folder, env=environment,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    for line in process.stdout:
        if "http://" in line:
            return process, line.split("http://")[1].split("/")[0].strip()
    raise SystemExit(f"{arguments[0]} does not start")


def ask(connection, key):
    body = json.dumps({"model": "own/default", "max_tokens": 64, "stream": True,
                       "messages": [{"role": "user", "content": "Why?"}]})
    began = time.perf_counter()
    connection.request("POST", "/v1/chat/completions", body,
                       {"authorization": f"Bearer {key}", "content-type": "application/json"})
    answer = connection.getresponse()
    answer.read()
    if answer.status != 200:
        raise SystemExit(f"{answer.status}")
    return (time.perf_counter() - began) * 1e3


def at(times, share):
    return sorted(times)[min(len(times) - 1, int(len(times) * share))]


def main():
    think, database = os.path.abspath(sys.argv[1]), sys.argv[2]
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 3000
    with tempfile.TemporaryDirectory() as folder:
        sim, upstream = start(think, ["sim", "--listen", "127.0.0.1:0"], folder)
        with open(os.path.join(folder, "master.key"), "w", opener=lambda p, f: os.open(p, f, 0o600)) as file:
            file.write("5a" * 32)
        config = os.path.join(folder, "config.toml")
        with open(config, "w") as file:
            file.write(f"""
[server]
log = "off"
[store]
url = "{database}"
key = {{ file = "master.key" }}
[keys.limited]
key = "limited-key-0123456789"
limits = {{ requests_per_minute = 1000000, tokens_per_minute = 1000000000 }}
budget = {{ reasoning_tokens_per_key = 1000000000000, on_exceed = "block" }}
[keys.free]
key = "free-key-0123456789"
[providers.own]
wire = "chat-completions"
base_url = "http://{upstream}/default"
api_key = "k"
""")
        gateway, address = start(think, ["serve", "--listen", "127.0.0.1:0", "--config", config], folder)
        try:
            ways = {key: (http.client.HTTPConnection(address), []) for key in ("limited", "free")}
            for round in range(count + WARM):
                order = list(ways.items())
                for name, (connection, times) in order if round % 2 else order[::-1]:
                    took = ask(connection, f"{name}-key-0123456789")
                    if round >= WARM:
                        times.append(took)
            limited, free = ways["limited"][1], ways["free"][1]
            load = os.getloadavg()[0]
            print(f"{count} requests of each key, in turns, one at a time; load {load:.2f}")
            for name, times in (("limit and budget", limited), ("neither", free)):
                print(f"  {name:<18} p50 {at(times, .5):7.3f} ms  p90 {at(times, .9):7.3f} ms  "
                      f"p99 {at(times, .99):7.3f} ms  most {max(times):7.3f} ms")
            added = [one - other for one, other in zip(limited, free)]
            print(f"  added              p50 {at(limited, .5) - at(free, .5):+7.3f} ms  "
                  f"p90 {at(limited, .9) - at(free, .9):+7.3f} ms  p99 {at(limited, .99) - at(free, .99):+7.3f} ms")
            print(f"  pair by pair       p50 {at(added, .5):+7.3f} ms")
        finally:
            gateway.kill()
            sim.kill()


main()
