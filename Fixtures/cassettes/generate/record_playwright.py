"""Records archives with Playwright and Chromium: with the bodies inside, beside and left out."""
import os
import shutil
import sys

from playwright.sync_api import sync_playwright

base = sys.argv[1]
chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")

with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])

    def record(name, content, exchanges):
        context = browser.new_context(record_har_path=name, record_har_content=content)
        page = context.new_page()
        exchanges(page)
        context.close()

    fetches = """async (base) => {
        for (const path of ["/text", "/latin1", "/json", "/octets", "/gzip", "/fields", "/moved", "/empty", "/missing"])
            await (await fetch(base + path)).arrayBuffer();
        const send = (method, body, type) => fetch(base + "/echo", {method, body, headers: {"Content-Type": type}});
        await (await send("POST", JSON.stringify({name: "Käse"}), "application/json")).text();
        await (await send("POST", "a=1+2&b=%C3%A4", "application/x-www-form-urlencoded")).text();
        for (const path of ["/closed", "/cut"])
            try { await (await fetch(base + path)).text(); } catch {}
    }"""

    def visit(page):
        page.goto(base + "/page", wait_until="networkidle")

    def visit_and_fetch(page):
        visit(page)
        page.evaluate(fetches, base)

    record("embedded.har", "embed", visit_and_fetch)
    record("attached.har", "attach", visit)
    record("omitted.har", "omit", visit)
    browser.close()
