"""Lemma makes ONNX models cheaper to run with substitutions that have been proved.

    model, report = lemma.optimize("model.onnx", time_limit=60)

Models are paths, bytes or `onnx.ModelProto`, and come back as they came in. docs/python.md has examples.
"""

from ._differentiate import differentiate
from ._errors import Cancelled, CheckError, Error, InputError, InternalError, UnsupportedError
from ._look import Difference, Inspection, diff, inspect, profile, text_of
from ._optimize import Result, Step, optimize, optimize_all, simplify, simplify_all
from ._pictures import Picture
from ._program import version
from ._report import Report
from ._rules import Rule, Verdict, rules, verify_rules
from ._session import FallbackWarning, Session, Value, compile
from ._task import Task, start
from ._terms import Term, op, rule_of, tensor
from ._verify import Comparison, verify

__version__ = version()

__all__ = [
    "Cancelled",
    "CheckError",
    "Comparison",
    "Difference",
    "Error",
    "FallbackWarning",
    "InputError",
    "Inspection",
    "InternalError",
    "Picture",
    "Report",
    "Result",
    "Rule",
    "Session",
    "Step",
    "Task",
    "Term",
    "UnsupportedError",
    "Value",
    "Verdict",
    "compile",
    "diff",
    "differentiate",
    "inspect",
    "op",
    "optimize",
    "optimize_all",
    "profile",
    "rule_of",
    "rules",
    "simplify",
    "simplify_all",
    "start",
    "tensor",
    "text_of",
    "verify",
    "verify_rules",
]
