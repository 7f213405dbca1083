"""Take pictures of the site in a real browser: `python website/screenshots.py build/site build/screenshots`.

Every page of `SHOWN`, light and dark, wide and narrow. Debian's `chromium` is driven by Playwright.
"""

from __future__ import annotations

import functools
import shutil
import sys
import threading
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from playwright.sync_api import sync_playwright

SHOWN = ("index", "windows/index", "triggers/index", "join", "cookbook", "coming-from/spark", "reference/windows")
WIDTHS = {"wide": 1400, "narrow": 400}


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and says nothing of it."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def main() -> None:
    """Serve the site on loopback, and look at it."""
    site, folder = map(Path, sys.argv[1:])
    browser_path = shutil.which("chromium")
    if browser_path is None:
        sys.exit("screenshots: there is no chromium. Install it, as in apt-get install chromium.")
    folder.mkdir(parents=True, exist_ok=True)
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(site)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
            for scheme in ("light", "dark"):
                for name, width in WIDTHS.items():
                    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
                    for page_name in SHOWN:
                        page = context.new_page()
                        answer = page.goto(f"http://127.0.0.1:{server.server_port}/{page_name}.html")
                        if answer is None or not answer.ok:
                            sys.exit(f"screenshots: the site has no page {page_name!r}.")
                        page.wait_for_load_state("networkidle")
                        shot = f"{page_name.replace('/', '-')}-{scheme}-{name}.png"
                        page.screenshot(path=str(folder / shot))
                        page.close()
                    context.close()
            browser.close()
    finally:
        server.shutdown()


if __name__ == "__main__":
    main()
