"""What stands in the pages of the viewer when secrets came by every door that leads there."""

import random
import string

from cdp import holds
from gateway import ADMIN, Gateway
from viewer import clean, go, signed_in


def check_pages(place):
    """No secret of a thought, an answer, a name or an error stands in the document of any page."""
    drawn = random.Random(7)
    flown = {}

    def fly(door):
        flown[door] = "gho" + "_" + "".join(drawn.choices(string.ascii_letters + string.digits, k=36))
        return flown[door]

    with Gateway(place.think) as gateway:
        wish = {"thought": f"I think of {fly('thought')}.", "answer": f"It is {fly('answer')}."}
        traces = [gateway.ask(wish, key=ADMIN, session=fly("session")), gateway.ask(wish, key=ADMIN)]
        traces.append(gateway.own({"thought": f"Of {fly('own thought')}.", "answer": f"And {fly('own answer')}."}))
        wrong = {"model": fly("model"), "messages": [{"role": "user", "content": "{}"}]}
        gateway.request("POST", "/v1/chat/completions", wrong, authorization=f"Bearer {ADMIN}", content_type="application/json")
        wrong = {"model": "thinker", "messages": [{"role": "user", "content": '{"error": "no, because of ' + fly("error") + '"}'}]}
        gateway.request("POST", "/v1/chat/completions", wrong, authorization=f"Bearer {ADMIN}", content_type="application/json")
        for trace in traces[:2]:
            gateway.kept(trace, key=ADMIN)
        page = signed_in(place, gateway)
        pages = [("live", "document.querySelector('h1')"), ("traces", "document.querySelectorAll('.row').length > 2"),
                 ("traces?q=think&in=thoughts", "document.querySelector('.row')"), ("house", "document.querySelector('h1')"),
                 ("sums", "document.querySelector('h1')"), ("session/nightly", "document.querySelector('.message')")]
        pages += [(f"trace/{trace}", "document.querySelector('.why')") for trace in traces]
        masked = 0
        for path, until in pages:
            go(page, f"#/{path}", until)
            shown = page.run("document.documentElement.outerHTML + document.body.innerText + document.title")
            masked += "[masked:github-token:" in shown
            there = [door for door, secret in flown.items() if secret in shown]
            holds(not there, f"{path} shows the secret of {there}")
        holds(masked > 2, "the pages show what was covered")
        clean(page, gateway)
