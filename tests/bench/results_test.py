#!/usr/bin/env python3
"""The results of bench/results/ are as described, the pages are made of them, and what is wrong with a result is said."""

import contextlib
import copy
import io
import json
import pathlib
import re
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "parts"))
import pages
import papers
import results

GOOD = {"title": "Times", "question": "How fast?", "command": ["bench/tasks times MODEL"], "machine": "two cores",
        "date": "2026-11-25", "commit": None, "columns": [{"name": "model"}, {"name": "time", "unit": "s", "decimals": 2}],
        "rows": [["first", 0.7], ["second", None]], "notes": ["A note."],
        "asked": [{"what": "first", "bar": "0.5 s", "best": "0.70 s", "met": False, "reason": "it is large"},
                  {"what": "second", "bar": "1 s", "best": "1 s", "met": True, "reason": ""}], "not_run": ["The third."]}


class Shipped(unittest.TestCase):
    def test_pages_are_up_to_date_and_commands_are_there(self):
        shipped = results.load()
        pages.check_chapters(shipped)
        self.assertEqual(list(pages.faults(shipped, pages.all_pages(shipped))), [])

    def test_files_are_written_as_the_program_writes_them(self):
        for name, result in results.load().items():
            self.assertEqual((results.FOLDER / f"{name}.json").read_text(), results.text_of(result), name)

    def test_tables_of_documents_have_the_figures_of_results(self):
        """Those below a line `<!-- figures: bench/results/NAME.json -->`."""
        tables = [(document.name, *mark) for document in (ROOT / "docs").glob("*.md")
                  for mark in re.findall(r"<!-- figures: (\S+) -->\n((?:\|.*\n)+)", document.read_text())]
        for document, file, text in tables:
            result = json.loads((ROOT / file).read_text())
            lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines()]
            columns = {pages.heading(column): at for at, column in enumerate(result["columns"])}
            shown = {row[0]: row for row in result["rows"]}
            for line in lines[2:]:
                row = shown[line[0]]
                figures = [pages.cell(row[columns[name]], result["columns"][columns[name]].get("decimals")) for name in lines[0]]
                self.assertEqual(line, figures, document)
        self.assertGreater(len(tables), 0)

    def test_links_of_other_documents_lead_to_sections(self):
        titles = {pages.anchor(result["title"]) for result in results.load().values()}
        titles |= {pages.anchor(chapter) for chapter in pages.CHAPTERS}
        documents = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md"), ROOT / "bench" / "MISSES.md"]
        links = [(document.name, link.split(")")[0]) for document in documents
                 for link in document.read_text().split("RESULTS.md#")[1:]]
        self.assertEqual([link for link in links if link[1] not in titles], [])
        self.assertGreater(len(links), 20)


class Malformed(unittest.TestCase):
    def refused(self, reason, **changes):
        with self.assertRaises(results.Malformed) as raised:
            results.check("times", {**copy.deepcopy(GOOD), **changes})
        self.assertIn("bench/results/times.json: ", str(raised.exception))
        self.assertIn(reason, str(raised.exception))

    def test_good_one_is_accepted(self):
        results.check("times", GOOD)

    def test_fields(self):
        self.refused("'machine' is missing", machine=None)
        self.refused("no field 'speed'", speed=1)
        self.refused("no date", date="25 November")
        self.refused("question mark", question="How fast.")
        self.refused("no command", command=[])
        self.refused("'notes' is no list of texts", notes=[3])

    def test_tables(self):
        self.refused("another length", rows=[["first"]])
        self.refused("neither a number nor a text", rows=[["first", [1]]])
        self.refused("is no column", columns=[{"title": "model"}, {"name": "time"}])

    def test_bars(self):
        self.refused("no reason is given", asked=[{**GOOD["asked"][0], "reason": ""}])
        self.refused("no field 'met'", asked=[{**GOOD["asked"][0], "met": "no"}])
        self.refused("a field too many", asked=[{**GOOD["asked"][0], "worst": "3 s"}])

    def test_text_that_is_no_json(self):
        with tempfile.TemporaryDirectory() as name:
            (pathlib.Path(name) / "broken.json").write_text("{")
            with self.assertRaisesRegex(results.Malformed, r"bench/results/broken\.json"):
                results.load(pathlib.Path(name))


class Pages(unittest.TestCase):
    def test_section(self):
        text = "\n".join(pages.section("times", GOOD))
        self.assertIn("| model  | time, s |\n|--------|--------:|\n| first  |    0.70 |\n| second |       - |", text)
        self.assertIn("Machine: two cores. Date: 2026-11-25, the commit was not written down.", text)
        self.assertIn("    bench/tasks times MODEL", text)
        self.assertIn("- **Missed**: first. Asked: 0.5 s. Reached: 0.70 s. Why: it is large.", text)
        self.assertIn("- Met: second.", text)
        self.assertIn("- Not run: The third.", text)

    def test_misses_name_what_is_missed_and_not_what_is_met(self):
        shipped = results.load()
        text = pages.misses_page(shipped)
        for result in shipped.values():
            for bar in result["asked"]:
                self.assertEqual(f"]({'RESULTS.md#' + pages.anchor(result['title'])}), {result['date']}: "
                                 f"{pages.bar_text(bar)}" in text, not bar["met"], bar)

    def test_places(self):
        shipped = results.load()
        with self.assertRaisesRegex(results.Malformed, "times.json has no place"):
            pages.check_chapters({**shipped, "times": GOOD})
        shipped.pop("memory")
        with self.assertRaisesRegex(results.Malformed, "memory.json is no file"):
            pages.check_chapters(shipped)

    def test_commands(self):
        for command in ("bench/tasks times MODEL", "taskset -c 0 bench/baseline record FILE", "REPEAT=5 scripts/test", "lemma optimize",
                        "build/release/tests/bin/contradictions --nodes 3", "build/release/bench/bin/egraph_benchmark"):
            self.assertEqual(pages.fault_of(command), "", command)
        self.assertEqual(pages.fault_of("bench/nowhere"), "there is no bench/nowhere")
        self.assertEqual(pages.fault_of("bench/tasks"), "bench/tasks has no part ''")
        self.assertEqual(pages.fault_of("bench/tasks sizes"), "bench/tasks has no part 'sizes'")
        self.assertEqual(pages.fault_of("build/release/tests/bin/no_test"), "nothing builds build/release/tests/bin/no_test")

    def test_stale_pages_and_titles_that_occur_twice(self):
        with tempfile.TemporaryDirectory(dir=ROOT / "tests" / "bench") as name:
            page = pathlib.Path(name) / "PAGE.md"
            page.write_text("old")
            wrong = list(pages.faults({"times": GOOD, "others": {**GOOD, "command": ["bench/nowhere"]}}, {page: "new"}))
        self.assertEqual(len(wrong), 3)
        self.assertIn("others.json: there is no bench/nowhere", wrong[0])
        self.assertIn("'Times' occurs twice", wrong[1])
        self.assertIn("PAGE.md is stale", wrong[2])


class Papers(unittest.TestCase):
    def text(self, ours, how="measured"):
        return papers.row_of({"times": GOOD}, papers.Figure("what", "theirs", ours, how))

    def test_figures_come_from_results(self):
        self.assertEqual(self.text("{times|first|time} s")[2], "0.7 s")
        self.assertEqual(self.text("{most times|*|time}")[2], "0.7")
        self.assertEqual(self.text("{times|first|time}")[4], "[`bench/tasks times MODEL`](../bench/RESULTS.md#times)")
        rows = [["first", 2, 8.26], ["second, more", 4, 1]]
        columns = [{"name": "model"}, {"name": "before"}, {"name": "after", "decimals": 1}]
        shipped = {"times": {**GOOD, "rows": rows, "columns": columns}}
        shown = lambda ours: papers.row_of(shipped, papers.Figure("what", "theirs", ours, "measured"))[2]
        self.assertEqual(shown("{ratio times|first|after|before}"), "4.1")
        self.assertEqual(shown("{times|first|after}"), "8.3")
        self.assertEqual(shown("{mean times|*|before} {least times|*|after} {times|second*|before}"), "3 1 4")

    def test_what_is_not_there_is_said(self):
        for ours, words in (("{nothing|first|time}", "no result 'nothing'"), ("{times|third|time}", "no row 'third'"),
                            ("{times|first|speed}", "no column 'speed'"), ("{times|second|time}", "or no time"),
                            ("{times|*|time}", "has 2 rows"), ("{count nothing.txt|rule}", "there is no nothing.txt")):
            with self.assertRaisesRegex(results.Malformed, words):
                self.text(ours)
        for ours, how in (("", "measured"), ("3 s", "no GPU")):
            with self.assertRaisesRegex(results.Malformed, "a figure, or a reason"):
                self.text(ours, how)

    def test_no_figure_of_ours_is_written_by_hand(self):
        for paper in papers.PAPERS:
            for figure in paper.figures:
                self.assertEqual(bool(figure.ours), bool(papers.REFERENCE.search(figure.ours)), figure.what)


class Update(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "times.json"
        self.file.write_text(results.text_of(GOOD))

    def test_figures_are_replaced_and_the_rest_stays(self):
        with contextlib.redirect_stderr(io.StringIO()) as said:
            results.update(self.file, [["third", 3.5]])
        new = json.loads(self.file.read_text())
        self.assertEqual(new["rows"], [["third", 3.5]])
        self.assertNotEqual(new["machine"], GOOD["machine"])
        kept = ("title", "question", "command", "columns", "notes", "asked", "not_run")
        self.assertEqual({field: new[field] for field in kept}, {field: GOOD[field] for field in kept})
        self.assertIn("read its command, notes and bars again", said.getvalue())

    def test_rows_that_do_not_fit_change_nothing(self):
        for rows in ([["third"]], []):
            with self.assertRaises(results.Malformed):
                results.update(self.file, rows)
        self.assertEqual(self.file.read_text(), results.text_of(GOOD))


if __name__ == "__main__":
    unittest.main()
