"""Lemma makes ONNX models cheaper to run with substitutions that have been proved.

    model, report = lemma.optimize("model.onnx", time_limit=60)

Models are paths, bytes or `onnx.ModelProto`, and come back as they came in. docs/python.md has examples.
"""

from ._differentiate import differentiate
from ._errors import CheckError, Error, InputError, InternalError, UnsupportedError
from ._look import Difference, Inspection, diff, inspect, profile, text_of
from ._optimize import Result, Step, optimize, optimize_all, simplify, simplify_all
from ._program import version
from ._report import Report
from ._rules import Rule, Verdict, rules, verify_rules
from ._session import FallbackWarning, Session, Value, compile
from ._verify import Comparison, verify

__version__ = version()

__all__ = [
    "CheckError",
    "Comparison",
    "Difference",
    "Error",
    "FallbackWarning",
    "InputError",
    "Inspection",
    "InternalError",
    "Report",
    "Result",
    "Rule",
    "Session",
    "Step",
    "UnsupportedError",
    "Value",
    "Verdict",
    "compile",
    "diff",
    "differentiate",
    "inspect",
    "optimize",
    "optimize_all",
    "profile",
    "rules",
    "simplify",
    "simplify_all",
    "text_of",
    "verify",
    "verify_rules",
]
