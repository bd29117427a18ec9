"""The reasoning element: the convention of the seed, to the letter."""

import json
import os
import re

from cdp import holds, same

MESSAGE = "<REASONING>\nStep 1: Fetch account balance...\nStep 2: Compare deltas...\n</REASONING>\nFinal balance increased by 12 SOL."


def page(place, **how):
    page = place.browser.page(**how)
    page.open(f"{place.base}/tests/browser/element.html")
    page.until("!!window.shown")
    return page


def show(page, text, **attributes):
    attributes = {name.replace("_", "-"): value for name, value in attributes.items()}
    page.run(f"void shown({json.dumps(text)}, {json.dumps(attributes)})")


STATE = """(() => {
  const it = document.querySelector('[data-ai-reasoning]'), toggle = it.querySelector('[data-ai-reasoning-toggle]');
  const content = it.querySelector('[data-ai-reasoning-content]');
  return {collapsed: it.dataset.collapsed, tokens: it.dataset.tokenEst, label: toggle.textContent,
    expanded: toggle.getAttribute('aria-expanded'), controls: toggle.getAttribute('aria-controls') === content.id,
    text: content.textContent, seen: content.firstElementChild?.checkVisibility({contentVisibilityAuto: true}), shadow: it.shadowRoot};
})()"""


def check_vectors(place):
    """Every case that the Rust parser is held to."""
    at = page(place)
    with open(os.path.join(place.root, "fixtures/delimiter.tsv"), encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file if not line.startswith("#")]
    holds(len(rows) > 80, "there are many cases")
    flags = {"plain": {}, "staged": {}, "compat": {"compat": True}, "starts-open": {"startsOpen": True},
             "thinking-off": {"thinkingOff": True}}
    for mode, text, expected in rows:
        function = "stages" if mode == "staged" else "split"
        found = at.run(f"{function}({text}, {json.dumps(flags[mode])})")
        same(found, json.loads(expected), f"{mode} {text}")


def check_dom(place):
    """Container, state and count stand on real elements, and it is folded."""
    at = page(place)
    show(at, MESSAGE, data_msg_id="m1")
    state = at.run(STATE)
    text = "Step 1: Fetch account balance...\nStep 2: Compare deltas..."
    same(state, {"collapsed": "true", "tokens": "15", "label": "Thought · 15 tokens", "expanded": "false",
                 "controls": True, "text": text, "seen": False, "shadow": None}, "the example")
    same(at.run("document.querySelector('[data-ai-visible]').textContent"), "Final balance increased by 12 SOL.", "answer")
    show(at, "<REASONING>\nI started thinking but message truncated")
    same(at.run("document.querySelectorAll('[data-ai-reasoning]').length"), 0, "no end, no thought")
    show(at, "<REASONING>a <REDACTED>s3cr3t</REDACTED></REASONING>b")
    holds("s3cr3t" not in at.run("document.documentElement.outerHTML"), "what is redacted is nowhere in the page")
    same(at.run(STATE)["text"], "a [redacted]", "redacted")
    show(at, "<REASONING>hidden thought</REASONING>b", display="off")
    holds("hidden thought" not in at.run("document.querySelector('main').outerHTML"), "what is hidden is not in the page")
    same(at.faults, [], "faults")


def check_toggle(place):
    """One event a click, with the right payload, on the toggle and on the window."""
    at = page(place)
    show(at, MESSAGE, data_msg_id="m1")
    at.run("""window.onToggle = [];
      document.querySelector('[data-ai-reasoning-toggle]').addEventListener('svmai:event', e => onToggle.push(e.detail));""")
    for expanded in [True, False, True]:
        at.run("heard.length = onToggle.length = 0; 1")
        at.click("[data-ai-reasoning-toggle]")
        detail = {"type": "reasoning_toggle", "payload": {"msgId": "m1", "expanded": expanded, "tokens": 15}}
        expected = [{"detail": detail, "at": "BUTTON", "bubbles": True, "composed": True}]
        same(at.until("heard.length && heard"), expected, "on the window")
        same(at.run("onToggle"), [detail], "on the toggle")
        state = at.run(STATE)
        same((state["collapsed"], state["expanded"]), (str(not expanded).lower(), str(expanded).lower()), "state")
        same(state["seen"], expanded, "the text is seen when it is open")
        same(str(detail["payload"]["tokens"]), state["tokens"], "tokens")
        holds(f"{detail['payload']['tokens']} tokens" in state["label"], "the number is the one that is shown")
    # What a script does is no click.
    at.run("heard.length = 0; document.querySelector('ai-reasoning').expanded = false; 1")
    same((at.run(STATE)["collapsed"], at.run("heard")), ("true", []), "by a script")
    show(at, MESSAGE, data_msg_id="m2", legacy_events="")
    at.click("[data-ai-reasoning-toggle]")
    types = at.until("heard.length > 1 && heard.map(it => it.detail.type)")
    same(types, ["reasoning_toggle", "reasoning_expand"], "the old names come behind a flag")


def check_keyboard(place):
    """Everything works without a mouse, and a screen reader hears what it is."""
    at = page(place, reduced=True)
    show(at, MESSAGE, data_msg_id="m1")
    at.key("Tab")
    same(at.run("document.activeElement.matches('[data-ai-reasoning-toggle]')"), True, "focus")
    for key, expanded in [("Enter", True), (" ", False)]:
        at.run("heard.length = 0; 1")
        at.key(key)
        same(at.until("heard.length && heard[0].detail.payload.expanded !== undefined && heard.length"), 1, key)
        same(at.run("heard[0].detail.payload.expanded"), expanded, key)
        button = next(node for node in at.tree() if node["role"] == "button")
        same((button["name"], button["expanded"]), ("Thought · 15 tokens", expanded), "for a screen reader")
        regions = [node for node in at.tree() if node["role"] == "region"]
        same([it["name"] for it in regions], ["Thought · 15 tokens"] if expanded else [], "the text is a region when it is open")
    same(at.run("getComputedStyle(document.querySelector('[data-ai-reasoning-toggle]'), '::before').transitionDuration"), "0s", "motion")


def check_live(place):
    """A thought that comes is followed to its end until the reader scrolls up, and is not lost when it comes fast."""
    at = page(place)
    at.run("""window.live = document.createElement('ai-reasoning'); live.dataset.msgId = 'm1';
      live.setAttribute('display', 'show'); document.querySelector('main').replaceChildren(live);
      window.content = live.querySelector('[data-ai-reasoning-content]');
      window.feed = async (from, to) => { for (let n = from; n < to; n++) live.push(`line ${n}\\n`);
        await new Promise(requestAnimationFrame); await new Promise(requestAnimationFrame); };
      window.left = () => content.scrollHeight - content.scrollTop - content.clientHeight; 1""")
    at.run("feed(0, 300)")
    holds(at.run("left()") <= 1, "it follows")
    same(at.run(STATE)["label"][:10], "Thinking ·", "the label says that it goes on")
    at.run("content.scrollTop = 100; new Promise(requestAnimationFrame)")
    at.run("new Promise(done => setTimeout(done, 60))")
    at.run("feed(300, 500)")
    same(at.run("content.scrollTop"), 100, "whoever reads above stays there")
    at.run("content.scrollTop = content.scrollHeight; new Promise(done => setTimeout(done, 60))")
    at.run("feed(500, 800)")
    holds(at.run("left()") <= 1, "at the end it follows again")
    at.run("live.finish(); 1")
    expected = "".join(f"line {n}\n" for n in range(800))
    same(at.run("content.textContent"), expected, "all of it is there, once")
    same(at.run("live.tokens"), -(-len(expected.strip()) // 4), "tokens")
    # The machine may have other work: the best of three counts.
    took = min((at.run(OPENED) for _ in range(3)), key=lambda it: it[2])
    same(took[0], took[1], "five megabytes are all there")
    holds(took[2] < 1000, f"five megabytes open within a second: {took[2]:.0f} ms")


def check_together(place):
    """Thoughts that grow in the same moment are all drawn before one is measured, for that lays out the whole page."""
    at = page(place)
    order = at.run("""(async () => {
      const frames = async (count) => { for (; count > 0; count--) await new Promise(requestAnimationFrame); };
      const all = Array.from({length: 3}, () => { const it = document.createElement('ai-reasoning');
        it.setAttribute('display', 'show'); document.querySelector('main').append(it); return it; });
      all.forEach((it) => it.push('first\\n'));
      await frames(3);
      let order = '';
      const height = Object.getOwnPropertyDescriptor(Element.prototype, 'scrollHeight'), { append } = Element.prototype;
      Object.defineProperty(Element.prototype, 'scrollHeight', { ...height, get() { order += 'm'; return height.get.call(this); } });
      Element.prototype.append = function (...nodes) { order += 'w'; return append.apply(this, nodes); };
      all.forEach((it) => it.push('second\\n'));
      await frames(3);
      Object.defineProperty(Element.prototype, 'scrollHeight', height);
      Element.prototype.append = append;
      return order; })()""")
    holds(re.fullmatch("w{3,}m{3,}", order), f"written and measured: {order}")


OPENED = """(async () => { const text = 'A line of some forty letters, to and fro.\\n'.repeat(125000);
      const began = performance.now(); live.thought = text; live.expanded = true;
      await new Promise(requestAnimationFrame); content.getBoundingClientRect();
      return [text.length, content.textContent.length, performance.now() - began]; })()"""


def check_states(place):
    """A sealed thought is a state of its own, and what cannot be seen is named and not copied."""
    at = page(place)
    at.run("""window.it = document.createElement('ai-reasoning'); it.dataset.sealedBytes = '4096';
      it.dataset.provider = 'anthropic'; it.tokens = 1200; document.querySelector('main').replaceChildren(it); 1""")
    same(at.run(STATE)["label"], "Sealed, 4,096 bytes, by anthropic · 1,200 tokens", "sealed")
    same(at.run("it.querySelector('button').disabled"), True, "there is nothing to open")
    show(at, "<REASONING>a\u200bb \u202ec \U000e0041 \U0001f469\u200d\U0001f469 \u0646\u200c\u0647</REASONING>x\u2066y")
    same(at.run("[...document.querySelectorAll('[data-unseen]')].map(it => it.dataset.unseen)"),
         ["U+200B", "U+202E", "U+E0041", "U+2066"], "what cannot be seen is named")
    same(at.run(STATE)["text"], "ab c  \U0001f469\u200d\U0001f469 \u0646\u200c\u0647", "and not copied; joiners stay")
    show(at, "<REASONING>a\ufe0fb\ufe00c\U000e0100 \u2764\ufe0f</REASONING>x")
    same(at.run("[...document.querySelectorAll('[data-unseen]')].map(it => it.dataset.unseen)"),
         ["U+FE0F", "U+FE00", "U+E0100"], "selectors are named where they select nothing")
    same(at.run(STATE)["text"], "abc \u2764\ufe0f", "and stay behind a picture")


MARKED = """(async () => { const text = 'a' + SIGN.repeat(200000); const began = performance.now();
      live.thought = text; live.expanded = true;
      await new Promise(requestAnimationFrame); content.getBoundingClientRect();
      return [content.querySelectorAll('[data-unseen]').length, content.textContent.length, performance.now() - began]; })()"""


def check_marks(place):
    """200,000 marks on one letter, or signs that nobody sees, are not drawn one by one."""
    for sign in ["\\u0301", "\\u200b", "\\ufe0f", "\\u{e0100}"]:
        at = page(place)
        at.run("""window.live = document.createElement('ai-reasoning'); live.setAttribute('display', 'show');
          document.querySelector('main').replaceChildren(live);
          window.content = live.querySelector('[data-ai-reasoning-content]'); 1""")
        named, letters, took = at.run(MARKED.replace("SIGN", f"'{sign}'"))
        holds(named <= 1000 and letters <= 2000 and took < 1000, f"{sign}: {named} named, {letters} letters, {took} ms")


def check_hostile(place):
    """Text stays text, whatever it says, and nothing is loaded for it."""
    at = page(place)
    for payload in hostile(place.root):
        show(at, f"<REASONING>{payload}</REASONING>{payload}", data_msg_id=payload)
        at.run("document.querySelector('ai-reasoning')?.click()")
    # The convention's own tags take part of a text that has them; everything else is there as it was.
    show(at, "<REASONING><img src=x onerror=alert(1)></REASONING><script>alert(1)</script>")
    same(at.run(STATE)["text"], "<img src=x onerror=alert(1)>", "as it was")
    same(at.run("document.querySelectorAll('main :is(img, script, iframe, svg, a, style, link, form)').length"), 0, "no markup")
    same(at.run("window.pwned ?? null"), None, "no script ran")
    same((at.dialogs, at.faults), (0, []), "no dialog, no fault")
    same([url for url in at.requests if not url.startswith((place.base, "about:"))], [], "no other host")


def hostile(root):
    """Payloads that would run or load something where text became markup."""
    with open(os.path.join(root, "fixtures/hostile/markup.txt"), encoding="utf-8") as file:
        bases = [json.loads(line) for line in file if line.strip() and not line.startswith("#")]
    frames = ["{}", "\"'>{}", "</div></textarea></title></style></script>{}", "<!--{}-->", "`{}`", "```\n{}\n```",
              "[{}]({})", "![{}](https://evil.example/?{})", "\u202e{}", "<REASONING>{}"]
    return [frame.replace("{}", base) for base in bases for frame in frames]
