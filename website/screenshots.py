"""Take pictures in a real browser: `python website/screenshots.py build/site build/screenshots`.

Every page of `SHOWN`, a search, and the notebook of the examples as Jupyter shows it: light and dark, wide and narrow.
Debian's `chromium` is driven by Playwright, and fetches nothing from elsewhere.
"""

from __future__ import annotations

import functools
import re
import shutil
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from nbconvert import HTMLExporter
from playwright.sync_api import Browser, sync_playwright

NOTEBOOK = Path(__file__).parents[1] / "examples" / "first_hour.ipynb"
SHOWN = (
    "index",
    "tutorial",
    "notebook",
    "cookbook",
    "testing",
    "coming-from/spark",
    "windows/index",
    "windows/session",
    "triggers/index",
    "over",
    "join",
    "operations",
    "semantics",
    "peers",
    "reference/index",
    "reference/windows",
)
SEARCHED = "lateness"
SCHEMES = ("light", "dark")
WIDTHS = {"wide": 1400, "narrow": 400}


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and says nothing of it."""

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def main() -> None:
    """Serve the site and the notebook on loopback, and look at them."""
    site, folder = map(Path, sys.argv[1:])
    browser_path = shutil.which("chromium")
    if browser_path is None:
        sys.exit("screenshots: there is no chromium. Install it, as in apt-get install chromium.")
    folder.mkdir(parents=True, exist_ok=True)
    for scheme in SCHEMES:
        page, _ = HTMLExporter(template_name="lab", theme=scheme).from_filename(str(NOTEBOOK))
        (folder / f"jupyter-{scheme}.html").write_text(page, encoding="utf-8")
    with served(site) as at_site, served(folder) as at_folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=["--no-sandbox"])
        for scheme in SCHEMES:
            for name, width in WIDTHS.items():
                shots = {f"{page.replace('/', '-')}-{scheme}-{name}": f"{at_site}/{page}.html" for page in SHOWN}
                shots[f"jupyter-{scheme}-{name}"] = f"{at_folder}/jupyter-{scheme}.html"
                look(browser, scheme, width, {folder / f"{shot}.png": address for shot, address in shots.items()})
        browser.close()


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address at which the files of a folder can be had."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()


def look(browser: Browser, scheme: str, width: int, shots: dict[Path, str]) -> None:
    """Take a picture of each page, the notebook's in its whole length."""
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    context.route(lambda address: not address.startswith("http://127.0.0.1:"), lambda route: route.abort())
    for file, address in shots.items():
        page = context.new_page()
        answer = page.goto(address)
        if answer is None or not answer.ok:
            sys.exit(f"screenshots: there is no page {address}")
        page.wait_for_load_state("networkidle")
        page.screenshot(path=str(file), full_page=file.name.startswith("jupyter"))
        if file.name.startswith("index"):
            page.keyboard.press("Control+k")
            page.keyboard.type(SEARCHED, delay=100)  # as a person does; the first letters open the index
            page.get_by_text(re.compile(r"^\d+ results?$")).wait_for()
            page.screenshot(path=str(file.with_name(file.name.replace("index", "search"))))
        page.close()
    context.close()


if __name__ == "__main__":
    main()
