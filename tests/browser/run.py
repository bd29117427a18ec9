#!/usr/bin/env python3
"""Runs suites in a headless Chromium: `run.py SUITE... [--think BINARY] [--shots FOLDER]`.

Ends with 77 where there is no browser. Each suite is a module of this folder, and each of its functions whose name
begins with `check_` is given the place it works in.
"""

import argparse
import functools
import http.server
import importlib
import os
import sys
import threading
import time
import traceback

import cdp

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)


class Files(http.server.SimpleHTTPRequestHandler):
    """The repository's files under the policy of the gateway."""

    extensions_map = {".js": "text/javascript", ".css": "text/css", ".html": "text/html; charset=utf-8", "": "text/plain"}

    def end_headers(self):
        self.send_header("content-security-policy", POLICY)
        super().end_headers()

    def log_message(self, *_):
        pass


class Place:
    """What a check works with."""

    def __init__(self, browser, options, base):
        self.browser = browser
        self.think = options.think
        self.shots = options.shots
        self.base = base
        self.root = ROOT


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("suites", nargs="+", help="SUITE or SUITE.CHECK")
    parser.add_argument("--think", default=os.path.join(ROOT, "target/debug/think"))
    parser.add_argument("--shots", default=os.path.join(ROOT, "target/browser"))
    options = parser.parse_args()
    if cdp.chromium() is None:
        print("no Chromium: install `chromium`, or name one with CHROMIUM")
        return 77
    files = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Files, directory=ROOT))
    threading.Thread(target=files.serve_forever, daemon=True).start()
    failed = 0
    with cdp.Browser() as browser:
        place = Place(browser, options, f"http://127.0.0.1:{files.server_port}")
        for name in options.suites:
            suite, _, only = name.partition(".")
            module = importlib.import_module(suite)
            checks = [it for it in vars(module) if it.startswith("check_") and only in ("", it.removeprefix("check_"))]
            if not checks:
                raise SystemExit(f"there is no check `{name}`")
            for check in checks:
                began = time.monotonic()
                try:
                    vars(module)[check](place)
                    print(f"ok      {suite}.{check.removeprefix('check_')} ({time.monotonic() - began:.1f} s)")
                except Exception:  # noqa: BLE001 - whatever went wrong is the result
                    failed += 1
                    print(f"FAILED  {suite}.{check.removeprefix('check_')}\n{traceback.format_exc()}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
