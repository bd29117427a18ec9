"""Nothing that a model says runs or loads."""

from cdp import Failed, holds, same
from element import hostile
from gateway import Gateway
from viewer import go, signed_in


def check_hostile(place):
    """Payloads through the live, stored, search and error paths: no script runs, and nobody else is asked."""
    with Gateway(place.think) as gateway:
        payloads = hostile(place.root)
        holds(len(payloads) >= 500, f"there are {len(payloads)}")
        page = signed_in(place, gateway)
        page.run("window.pwned = undefined; document.addEventListener('securitypolicyviolation', e => (window.violations ??= []).push(e.violatedDirective)); 1")
        page.until("document.querySelector('.title .badge').textContent === 'listening'")
        traces = []
        for at in range(0, len(payloads), 30):
            text = "\n\nzebra\n".join(payloads[at:at + 30])
            traces.append(gateway.ask({"thought": text, "answer": text, "size": 97}, session=payloads[at].encode("ascii", "ignore").decode().replace("\n", " ").replace("\0", "")[:60] or "s"))
        for payload in payloads[::40]:
            traces.append(gateway.ask({"error": payload}))
        page.until("document.querySelectorAll('.card[data-phase=whole]').length >= 15")
        gateway.kept(traces[-1])
        go(page, "#/traces", "document.querySelectorAll('.row').length >= 20")
        go(page, "#/traces?q=zebra", "document.querySelectorAll('.row').length >= 10 || document.querySelector('.empty')")
        for trace in traces:
            go(page, f"#/trace/{trace}", f"document.querySelector('main').textContent.includes('{trace}')")
            page.run("document.querySelector('[data-ai-reasoning-toggle]')?.click()")
        for path in ["trace/<img src=x onerror=alert(1)>", "session/%3Cscript%3Ealert(1)%3C%2Fscript%3E", "traces?q=%3Cimg%20src%3Dx%3E&model=%22%3E%3Csvg%20onload%3Dalert(1)%3E"]:
            go(page, f"#/{path}", "document.querySelector('.empty')")
        same(page.run("window.pwned ?? null"), None, "no script ran")
        same(page.run("window.violations ?? []"), [], "the policy had nothing to stop")
        same(page.run("document.querySelectorAll('main :is(img, script, iframe, object, embed, style, link, base, meta)').length"), 0, "no markup")
        same(page.dialogs, 0, "no dialog")
        faults = [fault for fault in page.faults if "404" not in fault]
        same(faults, [], "faults")
        foreign = [url for url in page.requests if not url.startswith((gateway.base, "about:", "data:image/svg"))]
        same(foreign, [], "nobody else was asked")
        if page.browser.process.poll() is not None:
            raise Failed("the browser broke")
