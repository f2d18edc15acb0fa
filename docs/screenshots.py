"""Takes the pictures of the report in docs/images, in Debian's Chromium.

Run it on a report such as that of the demo: ``python docs/screenshots.py demo-output/report.html``
"""

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

IMAGES = Path(__file__).parent / "images"


def main(report: Path) -> None:
    """Photograph the summary, and an image with every prototype aligned to it."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        page = browser.new_page(viewport={"width": 1120, "height": 860}, color_scheme="light")
        page.goto(report.resolve().as_uri())
        page.screenshot(path=IMAGES / "report-summary.png")
        page.set_viewport_size({"width": 1120, "height": 640})
        page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
        run = page.locator("details:has(> summary:has-text('dti-kmeans'))").first
        run.locator("button.tile").nth(8).click()
        page.screenshot(path=IMAGES / "report-aligned.png")
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
