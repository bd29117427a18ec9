"""Traces and sessions: lists, the search, one of each, and why a request went out as it did."""

import json

from cdp import holds, same
from gateway import ADMIN, ALICE, Gateway
from viewer import ANSWER, THOUGHT, clean, go, restored, signed_in


def check_traces(place):
    """From the list to the thought behind an answer in two clicks; the search finds it; deep links work."""
    with Gateway(place.think) as gateway:
        for n in range(70):
            gateway.ask({"thought": f"thought number {n}", "answer": f"answer number {n}"}, session=f"s{n % 3}")
        trace = gateway.ask({"thought": THOUGHT, "answer": ANSWER})
        gateway.kept(trace)
        page = signed_in(place, gateway)
        go(page, "#/traces", "document.querySelectorAll('.row').length >= 60")
        page.click(".row")
        page.until("document.querySelector('[data-ai-reasoning-toggle]')")
        page.click("[data-ai-reasoning-toggle]")
        seen = "document.querySelector('[data-ai-reasoning-content]')"
        same(page.until(f"{seen}.checkVisibility() && {seen}.textContent"), THOUGHT, "two clicks")
        same(page.run("document.querySelector('.prose strong').textContent"), "once", "the answer has its forms")
        same(page.run("document.querySelector('.prose a').rel"), "noopener noreferrer", "links tell nothing")
        same(page.run("document.querySelector('.prose .host').textContent"), " (example.org)", "links say where they lead")
        tokens = page.run("document.querySelector('[data-ai-reasoning]').dataset.tokenEst")
        holds(f"Thought · {tokens} tokens" in page.run("document.querySelector('[data-ai-reasoning-toggle]').textContent"), "one number")
        deep = place.browser.page()
        deep.open(f"{gateway.base}/ui/#/trace/{trace}")
        deep.until("document.querySelector('.sign-in')")
        go(page, "#/traces", "document.querySelector('.filters')")
        page.run("document.querySelector('[name=q]').focus()")
        page.type("midnight")
        page.key("Enter")
        page.until("document.querySelectorAll('.row').length === 1")
        holds("midnight" in page.run("document.querySelector('.row .thought').textContent"), "the place is shown")
        go(page, "#/traces?q=midnight&in=answers", "document.querySelector('.empty')")
        go(page, "#/traces?until=2020-01-01", "document.querySelector('.empty')")
        today = page.run("new Date().toLocaleDateString('sv')")
        go(page, f"#/traces?until={today}", "document.querySelectorAll('.row').length >= 60")
        go(page, "#/traces?session=s1", "document.querySelectorAll('.row').length > 20")
        go(page, "#/session/s1?tenant=alice", "document.querySelectorAll('.message').length === 20")
        page.click(".more")
        page.until("document.querySelectorAll('.message').length > 20")
        same(page.run("document.querySelector('.message [data-ai-reasoning-content]').textContent"), "thought number 1", "the first is first")
        go(page, "#/traces", "document.querySelectorAll('.row').length >= 60")
        page.run("window.scrollTo(0, document.body.scrollHeight)")
        page.until("document.querySelectorAll('.row').length === 71")
        clean(page, gateway)


def check_sessions(place):
    """Sessions with their sums, the newest first; one of them reads as a conversation, thoughts folded in place."""
    with Gateway(place.think) as gateway:
        for n in range(70):
            gateway.ask({"thought": f"a thought in {n}", "answer": "x"}, session=f"many-{n}")
        for n in range(25):
            gateway.ask({"thought": f"first line of {n}\nand a second one", "answer": f"answer {n}"})
        last = gateway.ask({"thought": "of the admin", "answer": "y"}, key=ADMIN)
        gateway.kept(last, key=ADMIN)
        page = signed_in(place, gateway)
        page.click("nav a[href='#/sessions']")
        page.until("document.querySelectorAll('.row').length >= 60")
        rows = "[...document.querySelectorAll('.row')].map(it => it.textContent)"
        first, second = page.run(rows)[:2]
        holds("nightly" in first and "1 request " in first and "key admin" in first, f"two keys' sessions of one name are two: {first}")
        holds("nightly" in second and "25 requests" in second and "thinker-2" in second and "key alice" in second, second)
        page.run("window.scrollTo(0, document.body.scrollHeight)")
        page.until("document.querySelectorAll('.row').length === 72")
        page.run("document.querySelectorAll('.row')[1].click()")
        page.until("document.querySelectorAll('.message').length === 20")
        same(page.run("document.querySelector('.figure dd').textContent"), "25", "of all its requests")
        preview = "document.querySelector('.message [data-ai-reasoning-preview]').textContent"
        same(page.run(preview), "first line of 5", "the first line of a folded thought")
        page.click(".more")
        page.until("document.querySelectorAll('.message').length === 25")
        same(page.run(preview), "first line of 0", "the first is first")
        alice = signed_in(place, gateway, ALICE)
        go(alice, "#/sessions", "document.querySelectorAll('.row').length >= 60")
        holds("key alice" in alice.run(rows)[0], "her own only")
        clean(page, gateway), clean(alice, gateway)


def check_turn(place):
    """What an agent did, in order: question, thought, call, result, answer; and a refusal in the provider's own words."""
    with Gateway(place.think) as gateway:
        restored(gateway)
        refused = gateway.ask({"error": "this model takes no more than 8 messages"}, session="refused")
        gateway.kept(refused)
        page = signed_in(place, gateway)
        go(page, "#/sessions", "document.querySelectorAll('.row').length >= 2")
        titles = page.run("[...document.querySelectorAll('.row strong')].map(it => it.textContent)")
        holds(any(it.startswith("Which files are in folder") for it in titles), f"the first question is the title: {titles}")
        page.run("[...document.querySelectorAll('.row')].find(it => it.textContent.includes('Which files')).click()")
        page.until("document.querySelectorAll('.message').length === 2")
        seen = page.run("[...document.querySelectorAll('.message .item, .message [data-ai-reasoning], .message .prose')].map(it => it.dataset.type ?? [...it.classList].at(-1) ?? 'thought')")
        same([it for it in seen if it in ("question", "call", "result", "prose")], ["question", "call", "result", "prose"], "the order")
        page.run("document.querySelector('.item[data-type=result] summary').click()")
        same(page.run("document.querySelector('.item[data-type=result] pre').textContent"), "a.txt", "the result, unfolded")
        go(page, f"#/trace/{refused}", "document.querySelector('.item.refusal')")
        holds("no more than 8 messages" in page.run("document.querySelector('.item.refusal').textContent"), "the provider's words")
        holds("asked for as thinker" in page.run("document.querySelector('.about').textContent"), "the name that was asked for")
        clean(page, gateway)


def check_why(place):
    """Why a thought was put back, and by what evidence: two clicks from the list to the reason."""
    with Gateway(place.think) as gateway:
        trace = restored(gateway)
        page = signed_in(place, gateway)
        go(page, "#/traces", "document.querySelectorAll('.row').length >= 2")
        holds("1 restored" in page.run("document.querySelector('.row').textContent"), "the list says it")
        page.click(".row")
        page.until("document.querySelector('.why table')")
        same(page.run("document.querySelector('.why .badge').textContent"), "1 restored", "how many")
        cells = page.run("[...document.querySelectorAll('.why table')].map(table => [...table.tBodies[0].rows].map(row => [...row.cells].map(it => it.textContent)))")
        message, turn, thought, reason, known = cells[0][0]
        same((message, turn, thought), ("1", "1", "restored"), "which answer")
        holds("dropped it" in reason and "anchor" in known and "1 call" in known and "record" in known, f"why, and by what evidence: {cells[0]}")
        diff = page.run("[...document.querySelectorAll('.diff li')].map(it => it.textContent)")
        first = gateway.first_thought
        holds(any(it.startswith("addedthinkingmessage 1, block ") and first[:40] in it for it in diff), f"what went out and did not come: {diff}")
        holds("set model to" in page.run("document.querySelector('.changes').textContent"), "the name that the provider knows")
        stored = json.loads(gateway.request("GET", f"/v1/traces/{trace}", authorization=f"Bearer {ALICE}")[2])["trace"]
        same([it["outcome"] for it in stored["why"]["answers"]], ["restored"], "the same in the trace")
        same(stored["metadata"]["restored"], 1, "and in its numbers")
        clean(page, gateway)


def check_clicks(place):
    """Whoever opens `/ui/` and knows nothing: a thought behind an answer in two clicks, why one was put back in three."""
    with Gateway(place.think) as gateway:
        gateway.kept(gateway.ask({"thought": THOUGHT, "answer": ANSWER}))
        trace = restored(gateway)
        page = signed_in(place, gateway)
        page.open(f"{gateway.base}/ui/")
        page.run("window.clicks = 0; document.addEventListener('click', (event) => { clicks += event.isTrusted; }, true); 1")
        row = "[...document.querySelectorAll('.row')].find(it => it.textContent.includes('takes the date'))"
        page.until(row)
        page.run(f"({row}).id = 'wanted'; 1")
        page.click("#wanted")
        page.until("document.querySelector('[data-ai-reasoning-toggle]')")
        page.click("[data-ai-reasoning-toggle]")
        seen = "document.querySelector('[data-ai-reasoning-content]')"
        same(page.until(f"{seen}.checkVisibility() && {seen}.textContent"), THOUGHT, "the thought")
        same(page.run("clicks"), 2, "clicks from the page to a thought")
        page.run("clicks = 0; history.back(); 1")
        restored_row = "[...document.querySelectorAll('.row')].find(it => it.textContent.includes('1 restored'))"
        page.until(restored_row)
        page.run(f"({restored_row}).id = 'why'; 1")
        page.click("#why")
        cell = "document.querySelector('.why tbody tr')"
        page.until(f"{cell}?.checkVisibility()")
        told = page.run(f"{cell}.textContent")
        holds("restored" in told and "dropped it" in told and "anchor" in told, told)
        holds(page.run("location.hash").endswith(trace) and page.run("clicks") <= 3, "clicks from the page to a reason")
        clean(page, gateway)


def check_long(place):
    """A long list keeps few rows in the page, gives back those that one comes back to, and the place that one left."""
    with Gateway(place.think) as gateway:
        for n in range(250):
            gateway.ask({"thought": f"thought number {n}.", "answer": "x"})
        last = gateway.ask({"thought": "the last", "answer": "y"})
        gateway.kept(last)
        page = signed_in(place, gateway)
        page.click("nav a[href='#/traces']")
        page.until("document.querySelectorAll('.row').length >= 60")
        lists = "document.querySelectorAll('.rows ul').length"
        end = "[...document.querySelectorAll('.row')].at(-1)?.textContent.includes('thought number 0.')"
        page.until(f"(scrollTo(0, document.body.scrollHeight), {end})")
        same(page.run(lists), 5, "pages of the list")
        page.until("document.querySelectorAll('.rows ul')[2].childElementCount === 0")
        height = page.run("document.body.scrollHeight")
        # In the middle there is nothing any more, until somebody comes back to it.
        page.run("scrollTo(0, document.querySelectorAll('.rows ul')[2].offsetTop)")
        middle = "document.elementFromPoint(400, 400)?.closest('.row')"
        page.until(middle)
        holds("thought number 1" in page.run(f"{middle}.textContent"), "the rows of that place")
        holds(abs(page.run("document.body.scrollHeight") - height) < 400, "what is not there keeps its room")
        shown = page.run(f"{middle}.textContent")
        where = page.run("scrollY")
        page.run(f"({middle}).setAttribute('id', 'here'); 1")
        page.click("#here")
        page.until("document.querySelector('.why')")
        page.run("history.back()")
        page.until(f"{middle}")
        holds(abs(page.run("scrollY") - where) < 900 and page.run("scrollY") > 2000, f"back where one was: {page.run('scrollY')}, {where}")
        holds(shown in page.run("document.querySelector('.rows').textContent"), "and what one saw")
        same(page.run("document.activeElement.id"), "here", "and where the keyboard was")
        page.click("nav a[href='#/live']")
        page.until("document.querySelector('h1').textContent === 'Live'")
        page.click("nav a[href='#/traces']")
        page.until("document.querySelector('h1').textContent === 'Traces' && document.querySelectorAll('.row').length >= 60")
        same(page.run("scrollY"), 0, "whoever asks anew begins anew")
        clean(page, gateway)


def check_own(place):
    """The traces of `think ask` say why, too."""
    with Gateway(place.think) as gateway:
        gateway.own({"thought": "a thought that goes no further", "answer": "x"})
        second = gateway.own({"thought": "another one", "answer": "y"})
        page = signed_in(place, gateway)
        go(page, f"#/trace/{second}", "document.querySelector('.why')")
        said = page.run("document.querySelector('.why').textContent")
        holds("1 of the request\u2019s thoughts and payloads went no further" in said, said)
        holds("came as conversation" in said and "a thought that goes no further" in page.run("document.querySelector('.diff').textContent"), said)
        clean(page, gateway)


def check_steps(place):
    """A request that was refused and repaired says so, with each step; hidden thoughts leave no words in it."""
    for first in ["", "[reasoning]\nincludeInResponse = false\n"]:
        with Gateway(place.think, first) as gateway:
            # The model refuses the first request for the thoughts in it, and takes the second.
            asked = {"model": "thinker", "messages": [{"role": "user", "content": "hello"},
                     {"role": "assistant", "content": "hi", "reasoning_content": "a thought that nobody takes"},
                     {"role": "user", "content": json.dumps({"refuse": "reasoning_content", "thought": "x", "answer": "y"})}]}
            _, headers, _ = gateway.request("POST", "/v1/chat/completions", {**asked, "stream": True}, authorization=f"Bearer {ALICE}", content_type="application/json")
            holds("repaired=forbid" in headers["x-thinkthrough"], headers["x-thinkthrough"])
            trace = headers["x-thinkthrough"].partition("trace=")[2].partition(";")[0]
            gateway.kept(trace)
            page = signed_in(place, gateway)
            go(page, f"#/trace/{trace}", "document.querySelector('.steps')")
            steps = page.run("[...document.querySelectorAll('.steps li')].map(it => it.textContent)")
            holds(len(steps) == 2 and "no answer" in steps[0] and "takes no thoughts" in steps[1], f"each step: {steps}")
            diff = page.run("document.querySelector('.diff').textContent")
            same(("removedthinking" in diff, "a thought that nobody takes" in diff), (True, first == ""), diff)
            clean(page, gateway)
