"""Who may look into the viewer, and at what."""

from cdp import holds, same
from gateway import ADMIN, ALICE, Gateway
from viewer import clean, go, signed_in


def check_sign_in(place):
    """The link lets one browser in, once; a key shows what is its own; nothing is open."""
    with Gateway(place.think) as gateway:
        status, headers, _ = gateway.request("GET", "/ui/")
        same(status, 200, "the page itself is open")
        policy = headers["content-security-policy"]
        for part in ["default-src 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'", "frame-ancestors 'none'"]:
            holds(part in policy, f"{part} in {policy}")
        holds("unsafe" not in policy and "access-control-allow-origin" not in headers, "nothing is loosened")
        for path in ["me", "traces", "house", "sums", "traces/x", "events"]:
            same(gateway.request("GET", f"/ui/api/{path}")[0], 401, path)
        link = gateway.link
        token = link.rpartition("/")[2]
        same(gateway.request("POST", "/ui/api/sign-in", {"link": token}, content_type="application/json")[0], 403, "without our header")
        ours = {"content_type": "application/json", "x_thinkthrough_viewer": "1"}
        same(gateway.request("POST", "/ui/api/sign-in", {"key": "no-such-key-at-all-1"}, **ours)[0], 401, "a wrong key")
        same(gateway.request("POST", "/ui/api/sign-in", {"link": token}, x_forwarded_for="203.0.113.9", **ours)[0], 403, "from afar")
        foreign = {"origin": "https://evil.example", **ours}
        same(gateway.request("POST", "/ui/api/sign-in", {"link": token}, **foreign)[0], 403, "another site")
        page = signed_in(place, gateway, link=link)
        same(page.run("location.hash"), "#/live", "nothing of the link stays in the address")
        same(page.run("document.cookie"), "", "no script reads the cookie")
        cookie = page.send("Network.getCookies", urls=[f"{gateway.base}/ui/"])["cookies"][0]
        same((cookie["httpOnly"], cookie["sameSite"], cookie["path"]), (True, "Strict", "/ui/"), "the cookie")
        clean(page, gateway)
        status, _, body = gateway.request("POST", "/ui/api/sign-in", {"link": token}, **ours)
        same((status, "was used" in body), (401, True), "a link that was used")
        own = gateway.ask({"thought": "of alice", "answer": "x"})
        other = gateway.ask({"thought": "of the admin", "answer": "y"}, key=ADMIN)
        gateway.kept(own), gateway.kept(other, key=ADMIN)
        alice = signed_in(place, gateway, ALICE)
        go(alice, "#/traces", "document.querySelectorAll('.row').length")
        shown = alice.run("document.querySelector('.rows').textContent")
        holds("of alice" in shown and "of the admin" not in shown, f"her own: {shown}")
        same(alice.run(f"fetch('/ui/api/traces/{other}').then(it => it.status)"), 404, "another's trace")
        prune = "fetch('/ui/api/prune', {method: 'POST', headers: {'content-type': 'application/json', 'x-thinkthrough-viewer': '1'}, body: '{\"before\": 9e12}'}).then(it => it.status)"
        same(alice.run(prune), 403, "she is no admin")
        go(page, "#/traces", "document.querySelectorAll('.row').length === 2")
        page.click(".who button")
        page.until("document.querySelector('.sign-in')")
        same(page.run("fetch('/ui/api/me').then(it => it.status)"), 401, "signed out")


def check_revoked(place):
    """A page whose key is gone asks for one again, and nothing that was shown stays."""
    with Gateway(place.think) as gateway:
        page = signed_in(place, gateway, ALICE)
        page.until("document.querySelector('[data-state=whole]')")
        gateway.reload(gateway.config().replace(f'[keys.alice]\nkey = "{ALICE}"\n', ""))
        page.until("document.querySelector('.sign-in input')")
        same(page.run("fetch('/ui/api/me').then(it => it.status)"), 401, "signed out")


def check_hidden(place):
    """`includeInResponse = false` hides thoughts here, too: in lists, traces and the search."""
    with Gateway(place.think, "[reasoning]\nincludeInResponse = false\n") as gateway:
        # The question is shown, so that it must not have the words of the thought.
        trace = gateway.ask(r'{"thought": "a \u0068idden thought", "answer": "a plain answer"}')
        gateway.kept(trace)
        page = signed_in(place, gateway)
        for path, until in [("traces", "document.querySelector('.row')"), (f"trace/{trace}", "document.querySelector('.why')"),
                            ("session/nightly", "document.querySelector('.message')"), ("traces?q=hidden&in=thoughts", "document.querySelector('.empty')")]:
            go(page, f"#/{path}", until)
            holds("hidden thought" not in page.run("document.documentElement.outerHTML"), path)
        holds("hidden" not in page.run(f"fetch('/ui/api/traces/{trace}').then(it => it.text())"), "not in the answer either")
        clean(page, gateway)
