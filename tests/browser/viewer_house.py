"""Charts and the state of the house, and its two orders."""

from cdp import holds, same
from gateway import Gateway
from viewer import THOUGHT, clean, go, seeded, signed_in


BUDGET = "budget = { reasoning_tokens_per_day = 1000000, reasoning_tokens_per_session = 500000 }\n"
PRICE = '[prices."there/thinker-2"]\ninput = 1.0\ncache_read = 0.1\noutput = 10.0\n'


def check_pages(place):
    """Charts and house show what is there; erase and prune ask first; every page fits, reads and works by keyboard."""
    with Gateway(place.think, PRICE, alice=BUDGET) as gateway:
        seeded(gateway)
        page = signed_in(place, gateway)
        go(page, "#/charts?range=hour", "document.querySelectorAll('.chart svg').length >= 4")
        same(page.run("document.querySelector('.figure dd').textContent"), "14", "requests")
        holds(page.run("document.querySelectorAll('.chart table tbody tr').length") > 4, "the numbers are a table, too")
        figures = page.run("Object.fromEntries([...document.querySelectorAll('.figure')].map(it => [it.querySelector('dt').textContent, it.querySelector('dd').textContent]))")
        # Thirteen of them: 400 tokens anew at 1, 800 from the cache at 0.1, and some out at 10 dollars a million.
        holds(0.0062 < float(figures["Cost"].lstrip("$")) < 0.03, f"what they cost: {figures}")
        holds(figures["Saved by restoring"] == "0", f"nothing was put back: {figures}")
        head = "[...document.querySelectorAll('.chart')].find(it => it.textContent.includes('Requests'))?.querySelector('thead').textContent"
        go(page, "#/charts?range=hour&by=client", f"({head})?.includes('a-client')")
        go(page, "#/charts?range=hour&by=tenant", f"({head})?.includes('alice')")
        go(page, "#/house", "document.querySelectorAll('section table').length")
        holds("thinker-2" in page.run("document.querySelector('main').textContent"), "the models")
        budgets = page.run("[...document.querySelectorAll('section')].find(it => it.textContent.startsWith('Budgets')).querySelector('tbody').innerText")
        spent = sum(len(it) // 4 for it in [THOUGHT, *[f"{n}: " + THOUGHT[: 60 + 37 * n] for n in range(11)]])
        holds("reasoning tokens" in budgets and "today (UTC)" in budgets and f"{spent:,}" in budgets and "1,000,000" in budgets and "each has its own" in budgets, f"{spent} spent: {budgets}")
        same(page.run("[...document.querySelectorAll('section')].find(it => it.textContent.startsWith('Keys')).querySelectorAll('td').length"), 2, "keys")
        holds("1234567890" not in page.run("document.documentElement.outerHTML"), "names only")
        page.run("document.querySelector('[name=days]').value = 0; document.querySelector('.orders button').focus()")
        page.key("Enter")
        page.until("document.querySelector('dialog[open]')")
        same(page.run("document.activeElement.textContent"), "Cancel", "the harmless answer is the first")
        page.key("Enter")
        page.until("!document.querySelector('dialog')")
        go(page, "#/traces", "document.querySelectorAll('.row').length === 14")
        go(page, "#/house", "document.querySelector('[name=days]')")
        page.run("document.querySelector('[name=days]').value = 0; document.querySelector('.orders button').click()")
        page.until("document.querySelector('dialog[open]')")
        page.click("dialog .danger")
        page.until("document.querySelector('.orders .note').textContent.includes('14 traces')")
        go(page, "#/traces", "document.querySelector('.empty')")
        clean(page, gateway)
