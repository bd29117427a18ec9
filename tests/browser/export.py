"""A conversation that `think sessions export --format html` wrote: its thoughts are the same element."""

import json
import os
import subprocess
import tempfile

from cdp import same

TALK = [
    {"speaker": "human", "blocks": [{"type": "text", "text": "Why is the sky blue?"}]},
    {"speaker": "ai", "origin": {"provider": "p", "endpoint": "e", "model": "m", "account": ""},
     "blocks": [{"type": "thinking", "thought": "Short waves scatter \u200bmore.", "sourceField": "reasoning_content"},
                {"type": "text", "text": "**Scattering**, and <img src=x onerror=alert(1)>."}]},
    {"speaker": "ai", "blocks": [{"type": "thinking", "thought": "", "sourceField": "thinking", "signature": "c2ln" * 300},
                                 {"type": "text", "text": "Yes."}]},
]


def check_page(place):
    """Folded, counted and told as the convention says, without a word to anybody."""
    with tempfile.TemporaryDirectory() as home:
        env = dict(os.environ, HOME=home, XDG_CONFIG_HOME=home, XDG_DATA_HOME=home, NO_COLOR="1")

        def think(*args, **how):
            return subprocess.run([place.think, *args], env=env, check=True, capture_output=True, text=True, **how).stdout

        talk = os.path.join(home, "talk.jsonl")
        with open(talk, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(content) + "\n" for content in TALK)
        session = think("sessions", "import", talk).strip()
        path = os.path.join(home, "talk.html")
        with open(path, "w", encoding="utf-8") as file:
            file.write(think("sessions", "export", session, "--format", "html"))
        page = place.browser.page()
        page.open(f"file://{path}")
        page.until("document.querySelector('ai-reasoning:defined')")
        page.run("window.heard = []; addEventListener('svmai:event', e => heard.push([e.detail, e.target.tagName])); 1")
        same(page.run("document.querySelector('[data-ai-reasoning-content]').checkVisibility({contentVisibilityAuto: true}) && document.querySelector('[data-unseen]').dataset.unseen"), "U+200B", "what is unseen is named")
        before = page.run("[...document.querySelectorAll('[data-ai-reasoning-toggle]')].map(it => it.textContent)")
        same(before, ["Thought · 8 tokens", "Sealed, 1,200 bytes · 225 tokens"], "labels")
        page.click("[data-ai-reasoning-toggle]")
        payload = {"msgId": "m1", "expanded": True, "tokens": 8}
        same(page.until("heard.length && heard"), [[{"type": "reasoning_toggle", "payload": payload}, "BUTTON"]], "one event, with the number that is shown")
        same(page.run("document.querySelector('[data-ai-reasoning-content]').textContent"), "Short waves scatter more.", "the text")
        same((page.faults, page.dialogs), ([], 0), "faults")
        same([url for url in page.requests if not url.startswith(("file:", "about:", "data:"))], [], "other hosts")
