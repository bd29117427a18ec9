#!/usr/bin/env python3
"""Runs public packages, unmodified, against the masker: `chunk-invariance` and `pii-leak-benchmark`.

    python3 tests/masks/run.py [--think BINARY] [--home FOLDER] [--install]

The first cuts texts at every place and compares what `think mask` makes of the pieces with what it makes of the whole.
The second sends invented personal data and keys through `think serve` with `[masking]` covering requests and personal data, and looks for
them at the upstream. It prints the tables of docs/masking.md, and fails where a cut changes what comes out.
This is not part of `cargo test`: it needs Python 3 and a network for the installation.
"""

import argparse
import fcntl
import json
import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import termios
import time
import venv

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PACKAGES = ["chunk-invariance", "pii-leak-benchmark"]
# The capture server of the benchmark.
CAPTURE = "http://127.0.0.1:8765/v1"
CONFIG = f"""
[server]
keyless = true
[providers.capture]
wire = "chat-completions"
base_url = "{CAPTURE}"
api_key = "key-of-nobody-at-all"
[models."*"]
provider = "capture"
[store]
url = "sqlite:kept.db"
[masking]
requests = true
personal = true
"""


def texts():
    """Texts with secrets; none is anybody's, and none stands here in one piece."""
    drawn = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0"
    return [
        f"the key is gh{'p_'}{drawn[:36]}, so",
        f"export AWS_ACCESS_KEY_ID=AKI{'A'}Q3EGRX7TNM2VLPZW",
        f"Authorization: Bearer sk-an{'t-'}api03-{drawn}",
        'password: "hunter2x!" and nothing else',
        f"postgres://app:{drawn[:14]}@db.internal/app",
        f"-----BEGIN {'PRIVATE'} KEY-----\n{drawn}\n{drawn}\n-----END {'PRIVATE'} KEY-----\nnext",
        "plain words, é and 日本, and no secret at all",
    ]


class Mask:
    """`think mask` as a filter of whole texts and of streams."""

    def __init__(self, think):
        self.think = think

    def stream(self, chunks):
        process = subprocess.Popen([self.think, "mask"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for chunk in chunks:
            process.stdin.write(chunk.encode())
            process.stdin.flush()
            self.wait_until_read(process.stdin)
        process.stdin.close()
        said = process.stdout.read().decode()
        process.wait()
        yield self.same_tags(said)

    def whole(self, text):
        ran = subprocess.run([self.think, "mask"], input=text.encode(), capture_output=True, check=True)
        return self.same_tags(ran.stdout.decode())

    @staticmethod
    def wait_until_read(pipe):
        """Each piece is read by itself: the next one is written when the pipe is empty."""
        while struct.unpack("i", fcntl.ioctl(pipe, termios.FIONREAD, b"\0\0\0\0"))[0]:
            time.sleep(0.0005)

    @staticmethod
    def same_tags(text):
        """Each run draws a key, so that its tags are its own."""
        return re.sub(r"\[masked:([a-z0-9-]+):[a-z2-7]{6}\]", r"[masked:\1:tag]", text)


def cuts(think):
    from chunk_invariance import ChunkInvarianceError, assert_chunk_invariant

    mask, wrong = Mask(think), 0
    print("| text | comes out as | cuts | |\n|---|---|---|---|")
    for text in texts():
        masked = mask.whole(text).replace("\n", " ")
        try:
            count, said = assert_chunk_invariant(mask.stream, mask.whole, text), "the same for each"
        except ChunkInvarianceError as error:
            count, said, wrong = "", str(error), wrong + 1
        print(f"| {len(text)} letters | `{masked}` | {count} | {said} |")
    return wrong


def leaks(think, python):
    with tempfile.TemporaryDirectory() as folder:
        config = pathlib.Path(folder, "config.toml")
        config.write_text(CONFIG)
        env = {**os.environ, "HOME": folder, "XDG_DATA_HOME": folder}
        serve = [think, "serve", "--config", str(config), "--listen", "127.0.0.1:0"]
        gateway = subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, text=True)
        try:
            address = gateway.stdout.readline().split(" on ")[1].strip()
            print("\n| profile | reached the provider | checks that passed |\n|---|---|---|")
            for profile in ["pii-v1", "pii-secrets-v1"]:
                report(profile, address, folder, python)
        finally:
            gateway.kill()
            gateway.wait()


def report(profile, address, folder, python):
    out = pathlib.Path(folder, f"{profile}.json")
    program = str(pathlib.Path(python).with_name("pii-leak-benchmark"))
    args = ["selfcheck", "--target-base-url", f"{address}/v1", "--profile", profile, "--duty", "anonymize"]
    ran = subprocess.run([program, *args, "--json-out", str(out)], capture_output=True, text=True)
    if not out.exists():
        sys.exit(f"{profile}: {ran.stdout}{ran.stderr}")
    leaked = sorted(set(re.findall(r"^LEAK\s+(\w+)", ran.stdout, re.M)))
    passed = re.findall(r"^\s+(\w+)\s+pass$", ran.stdout, re.M)
    print(f"| `{profile}` | {', '.join(leaked) or 'nothing'} | {', '.join(passed)} |")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--think", default=str(ROOT / "target/debug/think"))
    options.add_argument("--home", default=str(ROOT / "target/masks"))
    options.add_argument("--install", action="store_true")
    options = options.parse_args()
    python = pathlib.Path(options.home, "py/bin/python")
    if options.install:
        venv.create(python.parent.parent, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES], check=True)
    if not python.exists():
        sys.exit(f"{python} is not there; add --install")
    if pathlib.Path(sys.prefix).resolve() != python.parent.parent.resolve():
        os.execv(python, [str(python), *(arg for arg in sys.argv if arg != "--install")])
    wrong = cuts(options.think)
    leaks(options.think, str(python))
    if wrong:
        sys.exit(f"{wrong} texts come out otherwise where they are cut")


if __name__ == "__main__":
    main()
