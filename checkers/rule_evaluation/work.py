"""The evaluation of one rule, as data."""

from rule_evaluation.judge import Judge
from rule_evaluation.networks import OPERATORS
from rule_evaluation.relations import describe, relation_of


def promised(rule, failure):
    """Whether a failure breaks what the rule claims."""
    if failure.kind == "tie of zeros":
        return False
    return failure.direction != "backward" or rule.is_equation


def failures_of(rule, outcomes):
    """The first failure of each kind, with its instance."""
    found = {}
    for outcome in outcomes:
        for failure in outcome.failures:
            key = (failure.direction, failure.kind)
            if promised(rule, failure) and key not in found:
                undefined = [rule.inputs[i].name for i in sorted(outcome.undefined_inputs)]
                found[key] = {"direction": failure.direction, "kind": failure.kind,
                              "difference": failure.text, "instance": describe(rule, outcome),
                              "undefined": undefined, "empty_window": outcome.empty_window}
    return list(found.values())


def count(outcomes, condition):
    return sum(1 for one in outcomes if condition(one))


def evaluate_rule(rule, seed, instances, is_bitwise):
    """A summary for the report, and the relation between the sides."""
    judge = Judge(rule, seed, is_bitwise)
    unknown = sorted({node.operator for node in rule.nodes if node.operator} - set(OPERATORS))
    outcomes = [] if unknown else judge.run(instances)
    sizes = [{n for shape in one.shapes for n in shape} for one in outcomes]
    summary = {
        "name": rule.name, "file": rule.file, "relation": "=" if rule.is_equation else "=>",
        "bitwise": is_bitwise, "instances": len(outcomes), "wanted": instances,
        "size_0": sum(1 for one in sizes if 0 in one), "size_1": sum(1 for one in sizes if 1 in one),
        "above_256": sum(1 for one in sizes if one and max(one) > 256),
        "undefined": count(outcomes, lambda one: one.undefined_inputs),
        "floats": count(outcomes, lambda one: one.floats),
        "ties": count(outcomes, lambda one: any(f.kind == "tie of zeros" for f in one.failures)),
        "failures": failures_of(rule, outcomes)}
    if len(outcomes) < instances:
        summary["rejected"] = [f"{', '.join(unknown)} cannot be evaluated here"] if unknown else sorted(
            judge.rejected, key=judge.rejected.get, reverse=True)[:3]
    return {"summary": summary, "relation": relation_of(rule, outcomes)}
