"""How every page looks, reads and is walked through."""

import json
import threading
import time

from cdp import Failed, holds, same
from gateway import ADMIN, ALICE, Gateway
from viewer import ANSWER, THOUGHT, axed, clean, go, restored, seeded, signed_in


def check_keyboard(place):
    """From the sign-in to the thought behind an answer, and back, with nothing but a keyboard."""
    with Gateway(place.think) as gateway:
        gateway.kept(gateway.ask({"thought": "a thought", "answer": "an answer"}))
        page = place.browser.page()
        page.open(f"{gateway.base}/ui/")
        page.until("document.querySelector('.sign-in input')")

        def reach(selector):
            for _ in range(60):
                page.key("Tab")
                if page.run(f"document.activeElement.matches({json.dumps(selector)})"):
                    seen = page.run("getComputedStyle(document.activeElement).outlineStyle")
                    return holds(seen != "none", f"the focus on {selector} is seen")
            raise Failed(f"no way to {selector}")

        reach("[name=key]")
        page.type(ALICE)
        page.key("Enter")
        page.until("!document.querySelector('nav').hidden")
        for name in ["charts", "house", "sessions", "traces"]:
            reach(f"nav a[href='#/{name}']")
            page.key("Enter")
            page.until(f"document.querySelector('nav a[href=\"#/{name}\"]').getAttribute('aria-current') === 'page'")
        page.until("document.querySelector('.row')")
        reach(".row")
        page.key("Enter")
        page.until("document.querySelector('.why')")
        reach("[data-ai-reasoning-toggle]")
        page.key(" ")
        page.until("document.querySelector('[data-ai-reasoning-content]').checkVisibility()")
        reach(".why summary")
        page.key("Enter")
        page.until("document.querySelector('.why details').open")
        reach(".who button")
        page.key("Enter")
        page.until("document.querySelector('.sign-in')")
        clean(page, gateway)


def check_axe(place):
    """Pages and states that no picture is made of: axe has nothing against them either."""
    with Gateway(place.think) as gateway:
        page = place.browser.page()
        page.open(f"{gateway.base}/ui/")
        page.until("document.querySelector('.sign-in input')")
        same(axed(page), [], "the sign-in")
        page = signed_in(place, gateway)
        for path in ["traces", "sessions", "charts", "live"]:
            go(page, f"#/{path}", "document.querySelector('.empty')")
            same(axed(page), [], f"{path}, empty")
        trace = restored(gateway)
        for path, until in [(f"trace/{trace}", "document.querySelector('.diff')"), ("house", "document.querySelector('[name=days]')")]:
            go(page, f"#/{path}", until)
            page.run("document.querySelectorAll('details').forEach(it => { it.open = true; }); document.querySelector('[data-ai-reasoning-toggle]')?.click()")
            page.run("document.querySelector('.orders button')?.click()")
            same(axed(page), [], path)
        clean(page, gateway)


def check_looks(place):
    """Every page, dark and light, narrow and wide: nothing sticks out, everything has a name and can be read."""
    with Gateway(place.think) as gateway:
        trace = seeded(gateway)
        pages = {"traces": "document.querySelectorAll('.row').length", f"trace/{trace}": "document.querySelector('.why')",
                 "session/nightly?tenant=alice": "document.querySelectorAll('.message').length > 2", "sessions": "document.querySelectorAll('.row').length", "charts?range=hour": "document.querySelectorAll('.chart').length",
                 "house": "document.querySelector('.orders')", "live": "document.querySelector('.title .badge').textContent === 'listening'"}
        problems = {}
        for width in [1440, 360]:
            for dark in [False, True]:
                page = signed_in(place, gateway, ADMIN, width=width, height=900, dark=dark)
                for path, until in pages.items():
                    go(page, f"#/{path}", until)
                    running = None
                    if path.startswith("trace/"):
                        page.click("[data-ai-reasoning-toggle]")
                        page.until("document.querySelector('[data-collapsed=false]')")
                        page.run("window.scrollTo(0, 0)")
                    if path == "live":
                        wishes = [{"thought": THOUGHT * 3, "answer": ANSWER, "size": 18, "pause": 0.05}, {"thought": THOUGHT, "answer": ANSWER},
                                  {"thought": "Short. " * 12, "answer": ANSWER * 2, "size": 12, "pause": 0.06}]
                        running = [threading.Thread(target=gateway.ask, args=[wish]) for wish in wishes]
                        for one in running:
                            one.start()
                        page.until("document.querySelectorAll('.card').length === 3 && document.querySelector('.card[data-phase=whole]')")
                        time.sleep(1.5)
                    name = f"{path.partition('/')[0].partition('?')[0]}-{width}-{'dark' if dark else 'light'}"
                    page.screenshot(f"{place.shots}/{name}.png")
                    wide = page.run("document.documentElement.scrollWidth")
                    nameless = [it for it in page.tree() if it["role"] in ("button", "link", "textbox", "searchbox", "combobox", "spinbutton", "image", "region", "dialog") and not it["name"]]
                    found = page.run(CONTRAST) + nameless + axed(page)
                    if wide > width:
                        found.append(f"{wide} pixels wide")
                    if page.run("document.querySelectorAll('h1').length") != 1:
                        found.append("not one heading of the page")
                    if found:
                        problems[name] = found
                    for one in running or []:
                        one.join()
                clean(page, gateway)
        same(problems, {}, "what sticks out, has no name, or is hard to read")


CONTRAST = """(() => {
  const canvas = document.createElement('canvas').getContext('2d', {willReadFrequently: true});
  const rgba = (colour) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour; canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data; return [r, g, b, a / 255]; };
  const over = (top, below) => top.slice(0, 3).map((it, at) => it * top[3] + below[at] * (1 - top[3]));
  const light = (rgb) => { const [r, g, b] = rgb.map(it => it / 255).map(it => it <= .04045 ? it / 12.92 : ((it + .055) / 1.055) ** 2.4);
    return .2126 * r + .7152 * g + .0722 * b; };
  const behind = (it) => { const all = []; for (let at = it; at; at = at.parentElement) all.push(rgba(getComputedStyle(at).backgroundColor));
    return all.reverse().reduce((below, top) => over(top, below), [255, 255, 255]); };
  const poor = [];
  for (const it of document.querySelectorAll('main *, header *')) {
    const has = [...it.childNodes].some(node => node.nodeType === 3 && node.data.trim());
    if (!has || !it.checkVisibility({opacityProperty: true, visibilityProperty: true}) || it.closest('svg')) continue;
    const below = behind(it), text = over(rgba(getComputedStyle(it).color), below);
    const [bright, dim] = [light(text), light(below)].sort((a, b) => b - a);
    const ratio = (bright + .05) / (dim + .05);
    if (ratio < 4.5) poor.push(`${it.tagName}.${it.className} "${it.textContent.slice(0, 30)}" ${ratio.toFixed(2)}`);
  }
  return [...new Set(poor)].slice(0, 8);
})()"""
