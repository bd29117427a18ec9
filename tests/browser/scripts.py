"""The page's scripts have the types that their comments say."""

import os
import subprocess

from cdp import holds
from npm import tool


def check_types(place):
    """The compiler of TypeScript has nothing to say about the modules of `web/`."""
    folder = tool("typescript")
    if folder is None:
        return
    command = ["node", os.path.join(folder, "bin", "tsc"), "-p", os.path.join(place.root, "web", "jsconfig.json")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    holds(ran.returncode == 0, ran.stdout + ran.stderr)
