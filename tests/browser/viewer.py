"""What the suites of the viewer have in common: who signs in, where they go, and what is there to be seen."""

import json
import os

from cdp import Failed, same
from gateway import ALICE
from npm import tool


THOUGHT = """The user wants to know why the tests fail only at night.

Let me think about what differs at night. The clock crosses midnight, so that a date that is computed twice can be two dates.
Also: the nightly job runs on another machine, with another time zone.

First, the assertion compares `today()` with a date that was taken when the fixture was made. If the suite begins at 23:59:58, both differ."""
ANSWER = """The fixture takes the date **once**, the assertion takes it *again*.

1. Freeze the clock in `tests/conftest.py`.
2. Compare with the frozen value:

```python
@pytest.fixture
def today(monkeypatch):
    return date(2026, 11, 23)
```

| before | after |
| --- | --- |
| fails between 23:59 and 00:01 | never |

See [the notes](https://example.org/clock)."""


def signed_in(place, gateway, key=None, link=None, **how):
    page = place.browser.page(**how)
    if key is None:
        page.open(link or gateway.link)
    else:
        page.open(f"{gateway.base}/ui/")
        page.until("document.querySelector('.sign-in input')")
        page.run("document.querySelector('.sign-in input').focus()")
        page.type(key)
        page.key("Enter")
    page.until("!document.querySelector('nav').hidden && !!document.querySelector('h1')")
    return page


def go(page, path, until="document.querySelector('h1')"):
    page.run(f"location.hash = {json.dumps(path)}; 1")
    page.until(f"!!({until})")


def clean(page, gateway):
    """No fault of the page, and nothing asked of anybody else."""
    # Whoever signs in with a key was asked for it, because nobody was signed in.
    same([it for it in page.faults if not ("401" in it and "/ui/api/me" in it)], [], "faults of the page")
    foreign = [url for url in page.requests if not url.startswith((gateway.base, "about:", "blob:", "data:"))]
    same(foreign, [], "other hosts")


def axed(page):
    """What axe has against the page as it is."""
    folder = tool("axe-core")
    if folder is None:
        return []
    if not page.run("!!window.axe"):
        with open(os.path.join(folder, "axe.min.js"), encoding="utf-8") as file:
            page.run(file.read() + "; 1")
    found = page.run("axe.run({resultTypes: ['violations']}).then(it => it.violations.map(one => `${one.id}: ${one.help}: ${one.nodes.map(node => node.target).join(' ')}`))")
    return found


def seeded(gateway):
    """Fourteen requests of several kinds; gives the trace of the first."""
    trace = gateway.ask({"thought": THOUGHT, "answer": ANSWER})
    for n in range(11):
        gateway.ask({"thought": f"{n}: " + THOUGHT[: 60 + 37 * n], "answer": f"The answer to question {n} is short."}, session="nightly" if n < 3 else "other")
    gateway.ask({"error": "the context is too long"})
    last = gateway.ask({"thought": "", "answer": "An answer without a thought."})
    gateway.kept(trace), gateway.kept(last)
    return trace


TOOL = {"type": "function", "function": {"name": "list_files", "description": "List the files.", "parameters": {"type": "object", "properties": {}}}}


def restored(gateway):
    """Two rounds with a tool, whose client loses the thought of the first; gives the second one's trace."""
    # A busy machine may be late with the look-up, and then nothing is put back: that is another test's.
    for attempt in range(3):
        headers = naive_rounds(gateway, f"Which files are in folder {attempt}? Use list_files.")
        if "restored=1" in headers:
            trace = headers.partition("trace=")[2]
            gateway.kept(trace)
            return trace
    raise Failed(headers)


def naive_rounds(gateway, question):
    """What the gateway says of the second round."""
    messages = [{"role": "user", "content": question}]
    for _ in range(2):
        body = {"model": "sim/kimi-k2", "messages": messages, "tools": [TOOL]}
        _, headers, text = gateway.request("POST", "/v1/chat/completions", body, authorization=f"Bearer {ALICE}", content_type="application/json")
        said = json.loads(text)["choices"][0]["message"]
        if len(messages) == 1:
            gateway.first_thought = said["reasoning_content"]
        # The client keeps what it knows, and its thought is lost.
        messages.append({"role": "assistant", "content": said.get("content"), "tool_calls": said.get("tool_calls") or None})
        messages += [{"role": "tool", "tool_call_id": call["id"], "content": "a.txt"} for call in said.get("tool_calls") or []]
    return headers["x-thinkthrough"]
