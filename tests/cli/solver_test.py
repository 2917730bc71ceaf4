"""Queries to Z3 in processes of their own: `lemma rules answer-queries`, and `lemma rules build` when it is interrupted during a
proof that takes long."""

import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest

import tested_programs

LEMMA = ""

CONTRADICTION = """(set-logic QF_NIA)
(declare-const x Int)
(declare-const y Int)
(assert (<= 2 x))
(assert (<= 2 y))
(assert (<= (* x y) 3))
"""
WITH_A_MODEL = CONTRADICTION.replace("3))", "4))")
# Z3 4.8.12 goes on for ever here, without counting it. Other versions may answer.
FOR_EVER = """(set-logic QF_NIA)
(declare-const x0 Int)
(declare-const x1 Int)
(declare-const x2 Int)
(declare-const x3 Int)
(assert (<= 0 x0))
(assert (<= 0 x1))
(assert (<= 0 x2))
(assert (=> (<= 1 (+ 0 (* 1 x0))) (and (<= (+ 0 (* 1 (* x0 x2))) (+ 0 (* 1 x1))) (< (+ 0 (* 1 x1)) (+ (+ 0 (* 1 (* x0 x2))) (+ 0 (* 1 x0)))))))
(assert (<= 0 x3))
(assert (and
    (or (<= 0 (+ 0 (* (- 1) x0))) (<= 0 (+ (- 1) (* 1 x0) (* (- 1) x2))))
    (or (<= 0 (+ 0 (* (- 1) x0))) (<= 0 (+ 0 (* 1 (* x0 x0)) (* (- 1) (* x0 x2)) (* (- 1) x0))))
    (or (<= 0 (+ (- 1) (* (- 1) (* x0 x0 x2)) (* (- 1) x3))) (<= 0 (+ 0 (* (- 1) (* x0 x0 x0)) (* 1 (* x0 x0 x2)) (* 1 x3))))
    (<= 0 (+ (- 1) (* 1 x0))) (<= 0 (+ (- 1) (* 1 (* x0 x0)) (* (- 1) x1))) (<= 0 (+ (- 1) (* 1 (* x0 x0)) (* (- 1) x3)))))
"""


def answers(*queries, seconds=10):
    """What is answered, how the process ended, and its processor seconds."""
    text = "".join(f"{len(query)}\n{query}" for query in queries)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    done = subprocess.run([LEMMA, "rules", "answer-queries", "--seconds", str(seconds)], input=text, capture_output=True, text=True,
                          check=False)
    return done.stdout.splitlines(), done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before


class Queries(unittest.TestCase):
    def test_answers_come_in_order(self):
        said, status, _ = answers(CONTRADICTION, WITH_A_MODEL, CONTRADICTION)
        self.assertEqual(said, ["refuted", "not refuted", "refuted"])
        self.assertEqual(status, 0)

    def test_what_is_no_query_is_not_refuted(self):
        self.assertEqual(answers("(set-logic QF_NIA)\n(assert (<= x")[0], ["not refuted"])

    def test_a_query_without_end_is_ended(self):
        said, status, seconds = answers(WITH_A_MODEL, FOR_EVER, seconds=1)
        self.assertEqual(said[0], "not refuted")
        if len(said) == 1:
            self.assertEqual(status, -signal.SIGPROF)
        self.assertLess(seconds, 5)


# A proof that takes many seconds.
CANDIDATES = """rule two_groups
  defined x : [n, 2*c, y, z]
  w : [2*o, c, i, j]
  param s : dimensions[2]
  param p : dimensions[4]
  param d : dimensions[2]
  Conv{strides=s, pads=p, dilations=d, group=2}(x, w)
    => Conv{strides=s, pads=p, dilations=d, group=1}(x, Concat{axis=0}(
         Pad{pads=[0, 0, 0, 0, 0, c, 0, 0], mode="constant", value=0.0}(Slice{starts=[0], ends=[o], axes=[0]}(w)),
         Pad{pads=[0, c, 0, 0, 0, 0, 0, 0], mode="constant", value=0.0}(Slice{starts=[o], ends=[2*o], axes=[0]}(w))))
"""


class Interruption(unittest.TestCase):
    def test_a_proof_that_goes_on_does_not_delay_the_end(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            (folder / "long.rules").write_text(CANDIDATES)
            running = subprocess.Popen([LEMMA, "rules", "build", "--candidates", folder / "long.rules", "-o", folder / "out"],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            journal = folder / "out.work" / "long.journal"
            while not journal.exists() and running.poll() is None:
                time.sleep(0.01)
            time.sleep(0.5)
            self.assertIsNone(running.poll())
            running.send_signal(signal.SIGTERM)
            begin = time.monotonic()
            _, said = running.communicate(timeout=60)
            self.assertLess(time.monotonic() - begin, 2.5)
            self.assertEqual(running.returncode, 3)
            self.assertIn("interrupted; run the same command again to resume", said)


if __name__ == "__main__":
    LEMMA, rest = tested_programs.given(__doc__, "lemma")
    unittest.main(argv=[sys.argv[0], *rest])
