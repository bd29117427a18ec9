"""Tools of npm, in `target/npm` and never in the repository: what is absent there and cannot be had is said to be absent."""

import functools
import os
import shutil
import subprocess

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), "..", ".."))
PLACE = os.path.join(ROOT, "target", "npm")
#: The versions, so that a newer one does not fail what passed.
VERSIONS = {"axe-core": "4.10.2", "typescript": "5.8.3"}


@functools.cache
def tool(name):
    """The folder of a package; nothing, with a word, where it is absent."""
    folder = os.path.join(PLACE, "node_modules", name)
    if not os.path.isdir(folder) and shutil.which("npm"):
        packages = [f"{name}@{version}" for name, version in VERSIONS.items()]
        command = ["npm", "install", "--prefix", PLACE, "--no-save", "--no-audit", "--no-fund", "--ignore-scripts", *packages]
        os.makedirs(PLACE, exist_ok=True)
        try:
            subprocess.run(command, capture_output=True, timeout=120, check=False)
        except subprocess.TimeoutExpired:
            pass
    if os.path.isdir(folder):
        return folder
    print(f"skipped: `{name}` is absent; with `npm` and a network it is installed into target/npm")
    return None
