#!/usr/bin/env python3
"""A client as many are: it keeps what the model says and calls, and drops what it thinks.

    python3 examples/naive_client.py BASE_URL MODEL

Asks a question that needs a tool, runs the tool, and sends its result, by the API of Chat Completions. Needs nothing but
Python's standard library.
"""

import json
import os
import sys
import urllib.error
import urllib.request

TOOL = {
    "type": "function",
    "function": {
        "name": "list_files",
        "description": "List the files of the folder.",
        "parameters": {"type": "object", "properties": {}},
    },
}


def ask(base, model, messages):
    body = json.dumps({"model": model, "messages": messages, "tools": [TOOL]}).encode()
    headers = {"content-type": "application/json", "authorization": "Bearer a-key"}
    request = urllib.request.Request(f"{base}/chat/completions", body, headers)
    try:
        with urllib.request.urlopen(request) as answer:
            told = answer.headers.get("x-thinkthrough")
            print(f"200 {told or ''}".rstrip())
            return json.load(answer)["choices"][0]["message"]
    except urllib.error.HTTPError as error:
        sys.exit(f"{error.code} {json.load(error)['error']['message']}")


def main():
    base, model = sys.argv[1:3]
    messages = [{"role": "user", "content": "Which files are in this folder? Use list_files."}]
    while True:
        said = ask(base, model, messages)
        # What is not named here is lost: the thought that the model wants to see again.
        kept = {"role": "assistant", "content": said.get("content")}
        if said.get("tool_calls"):
            kept["tool_calls"] = said["tool_calls"]
        messages.append(kept)
        if not said.get("tool_calls"):
            print(said["content"])
            return
        for call in said["tool_calls"]:
            files = "\n".join(sorted(os.listdir(".")))
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": files})


if __name__ == "__main__":
    main()
