"""What the viewer takes: figures over the built program, for `benches/results/`. `run.py figures --think target/release/think`."""

import os
import sqlite3
import statistics
import glob
import threading
import time

from cdp import holds
from element import page as element_page
from gateway import Gateway
from viewer import go, signed_in

ROWS = int(os.environ.get("THINK_BENCH_TRACES", "1000000"))


def told(name, times, limit):
    """One line, and whether it is within what it must reach, in milliseconds."""
    times = sorted(times)
    at = lambda part: times[min(len(times) - 1, int(len(times) * part))]  # noqa: E731
    print(f"{name:<58} p50 {statistics.median(times):8.1f}  p90 {at(.9):8.1f}  slowest {times[-1]:8.1f} ms, {len(times)} times")
    holds(statistics.median(times) < limit, f"{name}: less than {limit} ms")


def check_thought(place):
    """A thought of five megabytes, from the click to the picture."""
    page = element_page(place)
    page.run("""window.opened = async () => {
      const it = document.createElement('ai-reasoning'); document.body.append(it);
      it.thought = 'A line of a long thought, with words in it, as models think them.\\n'.repeat(75000);
      await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
      const began = performance.now(); it.querySelector('button').click();
      await new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
      const took = performance.now() - began; it.remove(); return took; }; 1""")
    told("a thought of 5 MB opens", [page.run("opened()") for _ in range(5)], 1000)


def check_page(place):
    """What the page loads, and how long until it stands."""
    with Gateway(place.think) as gateway:
        gateway.kept(gateway.ask({"thought": "a thought", "answer": "an answer"}))
        page = signed_in(place, gateway)
        page.send("Network.setCacheDisabled", cacheDisabled=True)
        times, sizes = [], []
        for _ in range(7):
            page.open("about:blank")
            page.open(f"{gateway.base}/ui/#/live")
            times.append(page.until("document.querySelector('h1') && performance.getEntriesByType('mark').length >= 0 && Math.max(...performance.getEntriesByType('resource').filter(it => it.name.endsWith('/me')).map(it => it.responseEnd))"))
            sizes.append(page.run("performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation')).filter(it => /[.](js|css)$|ui[/]$/.test(it.name.split('#')[0])).reduce((all, it) => all + it.transferSize, 0)"))
        print(f"the page loads {max(sizes)} bytes with their heads")
        holds(30_000 < max(sizes) < 100_000, "less than 100 KB")
        told("the page stands, from an empty cache", times, 300)


def check_first(place):
    """How late the first word of a thought is seen: from the moment at which the model says it."""
    with Gateway(place.think) as gateway:
        page = watching(place, gateway)
        for n in range(20):
            gateway.ask({"thought": f"number {n}", "answer": "x", "wait": 0.05, "stamp": True})
        page.until("late.length === 20")
        told("the first word of a thought is seen, one request at a time", page.run("late"), 200)


def watching(place, gateway):
    """The live page, which notes in `late` how late each stamp is seen that a thought begins with."""
    page = signed_in(place, gateway)
    page.until("document.querySelector('.title .badge').textContent === 'listening'")
    page.run("""window.late = []; window.known = new Set(); new MutationObserver((all) => { for (const it of all) for (const node of it.addedNodes)
      for (const [, at] of node.textContent.matchAll(/@(\\d{13})@/g)) if (!known.has(it.target) && !known.has(at)) { known.add(at); late.push(Date.now() - at); } })
      .observe(document.querySelector('.cards'), {subtree: true, childList: true}); 1""")
    return page


def cpu(gateway):
    with open(f"/proc/{gateway.process.pid}/stat", encoding="ascii") as file:
        parts = file.read().rpartition(")")[2].split()
    return (int(parts[11]) + int(parts[12])) / os.sysconf("SC_CLK_TCK")


def streams(gateway, count, seconds, rate):
    """So many streams at once, all of them so many pieces a second; gives the gateway's share of one processor."""
    pause = count / rate
    wish = {"thought": "x" * int(20 * seconds / pause), "answer": "done", "size": 20, "pause": pause, "stamp": True}
    every = [threading.Thread(target=gateway.ask, args=[wish]) for _ in range(count)]
    began, spent = time.monotonic(), cpu(gateway)
    for one in every:
        one.start()
    for one in every:
        one.join()
    return (cpu(gateway) - spent) / (time.monotonic() - began)


def check_streams(place):
    """64 streams with 200 events a second: all is shown, and what the open page costs the gateway."""
    with Gateway(place.think) as gateway:
        gateway.kept(gateway.ask({"thought": "x", "answer": "y"}))
        alone = streams(gateway, 64, 10, 200)
        page = watching(place, gateway)
        seen = streams(gateway, 64, 10, 200)
        page.until("document.querySelectorAll('.card[data-phase=whole]').length >= 48")
        holds(page.run("!document.querySelector('.title .badge').textContent.includes('lost')"), "no event was lost")
        told("the first word of a thought is seen, among 64 streams", page.run("late"), 200)
        print(f"64 streams, 200 pieces a second: the gateway takes {100 * alone:.1f} % of a processor, {100 * seen:.1f} % with the viewer open")
        holds(seen - alone < 0.05, "less than 5 % more")


def check_rows(place):
    """A million traces: the first page, the next ones as one scrolls, the last ones, and sessions."""
    with Gateway(place.think) as gateway:
        gateway.kept(gateway.ask({"thought": "x", "answer": "y"}))
        filled(gateway)
        page = signed_in(place, gateway)
        page.run("window.took = async (path) => { const began = performance.now(); await fetch(`/ui/api/${path}`).then(it => it.json()); return performance.now() - began; }; 1")
        asked = lambda path: [page.run(f"took('{path}')") for _ in range(7)]  # noqa: E731
        told("60 of a million traces", asked("traces"), 200)
        told("60 of them from the middle", asked(f"traces?after={(NOW - ROWS // 2) * 1000}-x"), 200)
        told("60 of one key's", asked("traces?tenant=key-7"), 200)
        told("60 of 20,000 sessions", asked("sessions"), 300)
        go(page, "#/traces", "document.querySelectorAll('.row').length >= 60")
        page.run(FRAMES)
        times = []
        for n in range(2, PAGES + 1):
            began = time.monotonic()
            page.run("window.scrollTo(0, document.body.scrollHeight)")
            page.until(f"document.querySelectorAll('.rows ul').length >= {n}")
            times.append(1000 * (time.monotonic() - began))
        told("one more page of the list, as one scrolls", times, 500)
        told("of these the last thirty", times[-30:], 500)
        told("a picture while the list grows", page.run("frames.splice(0)"), 100)
        page.until("document.querySelectorAll('.row').length <= 360")
        left = page.run("document.querySelectorAll('.row').length")
        print(f"of {60 * PAGES} rows that were scrolled through {left} are in the page")
        back = []
        for n in range(30):
            place = f"document.querySelectorAll('.rows ul')[{(n * 37 + 11) % PAGES}]"
            began = time.monotonic()
            page.run(f"window.scrollTo(0, {place}.offsetTop + 1000)")
            page.until("document.elementFromPoint(400, 400)?.closest('.row')")
            back.append(1000 * (time.monotonic() - began))
        told("back to a place anywhere in it", back, 500)
        told("behind the last session", asked(f"sessions?after={(NOW - ROWS // 2) * 1000}-x"), 300)


NOW = int(time.time())
#: So many pages of sixty rows are scrolled through.
PAGES = 200
#: Notes how long each picture of the screen takes.
FRAMES = """window.frames = []; let last = performance.now(); requestAnimationFrame(function next(now) {
  frames.push(now - last); last = now; requestAnimationFrame(next); }); 1"""


def filled(gateway):
    """Writes a million traces of 20,000 sessions and 50 keys into the store, a second apart."""
    path = glob.glob(f"{gateway.home}/**/*.db", recursive=True)[0]
    store = sqlite3.connect(path, isolation_level=None)
    store.execute("PRAGMA busy_timeout = 60000")
    text = "A thought about the state of things, and what to do next. " * 5
    began = time.monotonic()
    for first in range(0, ROWS, 20_000):
        store.execute("BEGIN IMMEDIATE")
        store.executemany(
            "INSERT INTO reasoning_traces (id, session_key, run_id, model, provider, reasoning_text, response_text, reasoning_tokens, "
            "total_tokens, duration_ms, metadata, created_at, tenant) VALUES (?, ?, ?, ?, 'there', ?, 'An answer.', 70, 100, 2000, '{}', ?, ?)",
            [(f"{n:032x}", f"session-{n * 7919 % 20_000}", f"run-{n}", f"model-{n % 4}", text, (NOW - ROWS + n) * 1000, f"key-{n * 7919 % 20_000 % 50}")
             for n in range(first, first + 20_000)],
        )
        store.execute("COMMIT")
    store.execute("UPDATE trace_indexed SET up_to = (SELECT max(rowid) FROM reasoning_traces)")
    store.close()
    print(f"{ROWS} traces are written in {time.monotonic() - began:.0f} s")
