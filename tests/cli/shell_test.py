#!/usr/bin/env python3
"""`lemma help`, suggestions for words that were mistyped, completion and manual pages."""

import shutil
import subprocess
import sys
import unittest

import tested_programs

LEMMA = None


def run(*words):
    return subprocess.run([LEMMA, *words], capture_output=True, text=True, timeout=60)


def completed(*words):
    """What bash offers for the last of the words."""
    script = run("completion", "bash").stdout
    script += "COMP_WORDS=(" + " ".join(f"'{word}'" for word in ("lemma", *words)) + ")\n"
    script += f"COMP_CWORD={len(words)}\n_lemma\n" + 'printf "%s\\n" "${COMPREPLY[@]}"\n'
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout.split()


class Help(unittest.TestCase):
    def test_help_of_a_command_is_that_of_its_option(self):
        for path in (["optimize"], ["rules", "verify"], []):
            asked = run("help", *path)
            self.assertEqual(asked.returncode, 0, asked.stderr)
            self.assertEqual(asked.stdout, run(*path, "--help").stdout)
        self.assertEqual(run("help", "nonsense").returncode, 2)

    def test_mistyped_words_are_answered_with_the_nearest(self):
        for words, meant in ((["optimise"], "optimize"), (["rules", "verfy"], "verify"), (["simplfy", "x"], "simplify"),
                             (["optimize", "x", "-o", "y", "--time-limt", "3"], "--time-limit"),
                             (["compare", "x", "y", "--smaples=2"], "--samples")):
            done = run(*words)
            self.assertEqual(done.returncode, 2, words)
            self.assertIn(f"did you mean {meant}?", done.stderr, words)
        self.assertNotIn("did you mean", run("quite", "different").stderr)


class Completion(unittest.TestCase):
    @unittest.skipUnless(shutil.which("bash"), "there is no bash")
    def test_bash_completes_commands_and_options(self):
        self.assertEqual(completed("opt"), ["optimize"])
        self.assertIn("verify", completed("rules", ""))
        self.assertEqual(completed("optimize", "--time-l"), ["--time-limit"])
        self.assertIn("--axioms", completed("rules", "verify", "--ax"))
        self.assertEqual(completed("nonsense-"), [])

    def test_each_shell_has_a_script(self):
        for shell in ("bash", "zsh", "fish"):
            self.assertIn("time-limit", run("completion", shell).stdout)
        self.assertEqual(run("completion", "dos").returncode, 2)


class Manual(unittest.TestCase):
    def test_a_page_has_every_option_of_help(self):
        for path in (["optimize"], ["rules", "verify"]):
            page = run("manual", *path)
            self.assertEqual(page.returncode, 0, page.stderr)
            self.assertTrue(page.stdout.startswith(".TH LEMMA\\-" + "\\-".join(path).upper()))
            plain = page.stdout.replace("\\-", "-")
            for word in run(*path, "--help").stdout.split():
                if word.startswith("--"):
                    self.assertIn(word.rstrip(",").split("=")[0], plain)
        self.assertIn("optimize", run("manual").stdout)
        self.assertEqual(run("manual", "nonsense").returncode, 2)

    @unittest.skipUnless(shutil.which("groff"), "there is no groff")
    def test_a_page_is_set_without_complaint(self):
        page = run("manual", "optimize").stdout
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww"], input=page, capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
