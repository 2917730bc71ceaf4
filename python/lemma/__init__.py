"""Lemma makes ONNX models cheaper to run with substitutions that have been proved.

    model, report = lemma.optimize("model.onnx", time_limit=60)

Models are paths, bytes or `onnx.ModelProto`, and come back as they came in. docs/python.md has examples.
"""

from ._errors import CheckError, Error, InputError, InternalError, UnsupportedError
from ._optimize import optimize, simplify
from ._program import version
from ._report import Report
from ._rules import Rule, Verdict, rules, verify_rules
from ._verify import Comparison, verify

__version__ = version()

__all__ = [
    "CheckError",
    "Comparison",
    "Error",
    "InputError",
    "InternalError",
    "Report",
    "Rule",
    "UnsupportedError",
    "Verdict",
    "optimize",
    "rules",
    "simplify",
    "verify",
    "verify_rules",
]
