"""The pages of `lemma audit --html` in a browser: the search works, nothing is cut off, no line runs behind a box."""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import tested_programs

BROWSERS = ("chromium-headless-shell", "chromium", "google-chrome")
WIDTHS = (1280, 400)
SKIPPED = 77
LEMMA = BROWSER = FOLDER = None

# Says of a page how wide it is, and of each picture what is wrong with it.
PROBE = """<script>
window.addEventListener("load", function () {
  const problems = [];
  document.querySelectorAll("svg").forEach(function (svg) {
    const where = svg.closest("[data-page]") ? svg.closest("[data-page]").dataset.page : document.title;
    const view = svg.viewBox.baseVal;
    const boxes = Array.from(svg.querySelectorAll("rect")).map(function (rect) { return rect.getBBox(); });
    svg.querySelectorAll("g").forEach(function (group) {
      const box = group.querySelector("rect").getBBox();
      group.querySelectorAll("text").forEach(function (text) {
        const said = text.getBBox();
        if (said.x < box.x || said.x + said.width > box.x + box.width || said.y + said.height > box.y + box.height + 1)
          problems.push(where + ": cut off: " + text.textContent);
      });
      if (box.x < 0 || box.y < 0 || box.x + box.width > view.width || box.y + box.height > view.height)
        problems.push(where + ": a box is outside");
    });
    svg.querySelectorAll("path").forEach(function (path) {
      const length = path.getTotalLength();
      for (let at = 2; at < length - 2; at += 4) {
        const point = path.getPointAtLength(at);
        if (boxes.some(box => point.x > box.x + 1 && point.x < box.x + box.width - 1 &&
                              point.y > box.y + 1 && point.y < box.y + box.height - 1))
          { problems.push(where + ": a line behind a box"); break; }
      }
    });
  });
  const root = document.documentElement;
  document.body.dataset.found = JSON.stringify(
    {"wide": root.scrollWidth, "window": root.clientWidth, "pictures": document.querySelectorAll("svg").length,
     "problems": problems.slice(0, 20), "count": problems.length});
});
</script>"""


def shown(url, width=WIDTHS[0]):
    """The page as the browser has it when it is loaded."""
    done = subprocess.run([BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--window-size={width},900",
                           "--virtual-time-budget=5000", "--dump-dom", url], capture_output=True, text=True, timeout=120)
    if done.returncode != 0 or not done.stdout:
        raise AssertionError(f"the browser failed: {done.stderr[-2000:]}")
    return done.stdout


def probed(text, width):
    """What the probe says of a page."""
    page = FOLDER / "probed.html"
    page.write_text(text.replace("</body>", PROBE + "</body>"))
    found = re.search(r'data-found="([^"]*)"', shown(page.as_uri(), width))
    return json.loads(found[1].replace("&quot;", '"').replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">"))


class Site(unittest.TestCase):
    def visible(self, fragment):
        rows = re.findall(r'<tr data-class="([^"]*)" data-operators="([^"]*)"[^>]*?( hidden="")?><td class="word name">'
                          r'<a href="rule-([^"]*)\.html">', shown((FOLDER / "index.html").as_uri() + fragment))
        self.assertGreater(len(rows), 500)
        return [(kind, operators.split(), name) for kind, operators, hidden, name in rows if not hidden], len(rows)

    def test_search(self):
        everything, count = self.visible("")
        self.assertEqual(len(everything), count)
        found, _ = self.visible("#q=merge_convs+conv_concat_output_channels")
        self.assertEqual([name for _, _, name in found], ["merge_convs_sharing_input"])
        found, _ = self.visible("#operator=Split&class=bitwise")
        self.assertEqual(found, [one for one in everything if one[0] == "bitwise" and "Split" in one[1]])
        self.assertTrue(found)
        self.assertEqual(self.visible("#q=no_rule_says_this")[0], [])

    def test_rows_that_do_not_fit_are_not_seen(self):
        seen = ("<script>window.addEventListener('load', function () { document.body.dataset.seen = Array.from("
                "document.querySelectorAll('tbody tr')).filter(row => row.offsetHeight > 0).length; });</script>")
        page = FOLDER / "seen.html"
        page.write_text((FOLDER / "index.html").read_text().replace("</body>", seen + "</body>"))
        for width in WIDTHS:
            with self.subTest(width=width):
                self.assertIn('data-seen="1"', shown(page.as_uri() + "#q=merge_convs+conv_concat_output_channels", width))

    def test_keys(self):
        """Down, down and Enter on the list; i on the page of a rule."""
        text = (FOLDER / "index.html").read_text()
        keys = ("<script>window.addEventListener('load', function () {"
                "for (const key of ['j', 'j', 'k', 'j']) document.activeElement.dispatchEvent("
                "new KeyboardEvent('keydown', {key: key, bubbles: true}));"
                "document.body.dataset.at = document.activeElement.getAttribute('href');"
                "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', {key: '/', bubbles: true}));"
                "document.body.dataset.then = document.activeElement.id; });</script>")
        (FOLDER / "keys.html").write_text(text.replace("</body>", keys + "</body>"))
        page = shown((FOLDER / "keys.html").as_uri())
        links = re.findall(r'href="(rule-[^"]*)"', text)
        self.assertIn(f'data-at="{links[1]}"', page)
        self.assertIn('data-then="q"', page)

    def test_pictures(self):
        """All pictures of all rules on one page."""
        pictures = []
        for page in sorted(FOLDER.glob("rule-*.html")):
            for svg in re.findall(r"<svg .*?</svg>", page.read_text(), re.DOTALL):
                pictures.append(f'<div data-page="{page.name}">{svg}</div>')
        found = probed("<html><head><style>svg { max-width: none; }</style></head><body>" + "\n".join(pictures) +
                       "</body></html>", WIDTHS[0])
        self.assertEqual(found["pictures"], len(pictures))
        self.assertEqual(found["problems"], [], found["count"])

    def test_no_word_is_cut(self):
        """A heading or a class that begins in one line ends there."""
        cut = ("<script>window.addEventListener('load', function () { const lines = function (element) {"
               "const range = document.createRange(); range.selectNodeContents(element);"
               "return new Set(Array.from(range.getClientRects()).map(box => Math.round(box.top))).size; };"
               "document.body.dataset.cut = Array.from(document.querySelectorAll('th, td.short')).filter("
               "cell => cell.textContent.split(' ').length === 1).filter(cell => lines(cell) > 1).length; });</script>")
        for name in ("index.html", "axioms.html"):
            page = FOLDER / "cut.html"
            page.write_text((FOLDER / name).read_text().replace("</body>", cut + "</body>"))
            for width in WIDTHS:
                with self.subTest(page=name, width=width):
                    self.assertIn('data-cut="0"', shown(page.as_uri(), width))

    def test_nothing_is_wider_than_the_window(self):
        names = [path.name for path in sorted(FOLDER.glob("rule-*.html"))]
        longest = max(names, key=lambda name: (FOLDER / name).stat().st_size)
        for width in WIDTHS:
            for name in ("index.html", "axioms.html", "refuted.html", "rule-merge_convs_sharing_input.html", longest,
                         *names[::200]):
                with self.subTest(page=name, width=width):
                    found = probed((FOLDER / name).read_text(), width)
                    self.assertLessEqual(found["wide"], found["window"])

    def test_no_report_is_wider_than_the_window(self):
        reports = FOLDER / "reports"
        reports.mkdir()
        model = pathlib.Path(__file__).resolve().parents[2] / "examples" / "two_layer.onnx"
        shutil.copy(model, reports / f"{'a_long_name_' * 8}.onnx")
        calls = {"optimized": ["optimize", *sorted(reports.glob("*.onnx")), model, "--out-dir", reports / "out",
                               "--no-measure", "--report"],
                 "different": ["diff", model, reports / "out" / model.name, "--html"],
                 "timeline": ["emit", model, "--plan", "--timeline"]}
        for name, words in calls.items():
            page = reports / f"{name}.html"
            subprocess.run([LEMMA, *words, page], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for width in WIDTHS:
                with self.subTest(page=name, width=width):
                    seen = probed(page.read_text(), width)
                    self.assertGreater(seen["pictures"], 0)
                    self.assertLessEqual(seen["wide"], seen["window"])


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    BROWSER = next(filter(None, map(shutil.which, BROWSERS)), None)
    if BROWSER is None:
        print(f"skipped: none of {', '.join(BROWSERS)} is installed (apt-get install chromium-headless-shell)")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory(prefix="lemma-site-") as name:
        FOLDER = pathlib.Path(name)
        subprocess.run([LEMMA, "audit", "--html", name], check=True, stdout=subprocess.DEVNULL)
        unittest.main(argv=[sys.argv[0], *rest])
