"""In which relation the two sides of a rule stand, as far as its instances show."""

from itertools import combinations

DIRECTIONS = {"forward": ("forward",), "backward": ("backward",), "equation": ("forward", "backward")}


def failing(outcomes, directions):
    return [one for one in outcomes if any(f.direction in directions for f in one.failures)]


def smallest(outcomes, directions, candidates, property_of):
    """The fewest of `candidates` such that no instance fails that has none of them in its property;
    None if there are none that few."""
    wrong = failing(outcomes, directions)
    if not wrong:
        return []
    for count in (1, 2, 3):
        for chosen in combinations(candidates, count):
            if all(property_of(one) & set(chosen) for one in wrong):
                return list(chosen)
    return None


def kinds_of(outcomes, directions):
    counts = {}
    for one in outcomes:
        for failure in one.failures:
            if failure.direction in directions:
                counts[failure.kind] = counts.get(failure.kind, 0) + 1
    return counts


def example_of(rule, outcome, directions):
    failure = next(one for one in outcome.failures if one.direction in directions)
    undefined = [rule.inputs[i].name for i in sorted(outcome.undefined_inputs)]
    return (f"{failure.kind}: {failure.text}; " + describe(rule, outcome)
            + (f"; undefined elements in {', '.join(undefined)}" if undefined else ""))


def describe(rule, outcome):
    values = [f"{name}={list(value) if isinstance(value, tuple) else value}"
              for name, value in outcome.values.items()]
    shapes = [f"{one.name} {list(shape)}" for one, shape in zip(rule.inputs, outcome.shapes)]
    return ", ".join(values) + " (" + ", ".join(shapes) + ")"


def relation_of(rule, outcomes):
    """What the instances say of both directions, and which demands would make them hold."""
    names = range(len(rule.inputs))
    zeros = sorted(set().union(*(one.zeros for one in outcomes)))
    result = {"name": rule.name, "file": rule.file, "written": "=" if rule.is_equation else "=>",
              "instances": len(outcomes)}
    for name, directions in DIRECTIONS.items():
        wrong = failing(outcomes, directions)
        defined = smallest(outcomes, directions, names, lambda one: one.undefined_inputs)
        result[name] = {
            "holds": not wrong,
            "failures": kinds_of(wrong, directions),
            "needs_defined": defined and [rule.inputs[i].name for i in defined],
            "needs_positive": smallest(outcomes, directions, zeros, lambda one: one.zeros),
            "only_with_empty_windows": bool(wrong) and all(one.empty_window for one in wrong),
            "example": example_of(rule, wrong[0], directions) if wrong else ""}
    result["holds_as"] = holds_as(result)
    result["options"] = options_of(result)
    return result


def holds_as(relation):
    forward, backward = relation["forward"]["holds"], relation["backward"]["holds"]
    return {(True, True): "=", (True, False): "=>", (False, True): "<="}.get((forward, backward), "neither")


def options_of(relation):
    """What could be claimed instead, with `defined` inputs or positive sizes."""
    options = []
    for name, sign in (("equation", "="), ("forward", "=>"), ("backward", "<=")):
        found = relation[name]
        if found["holds"]:
            continue
        if found["needs_defined"]:
            options.append(f"{sign} with defined {', '.join(found['needs_defined'])}")
        if found["needs_positive"]:
            options.append(f"{sign} with positive {', '.join(found['needs_positive'])}")
    return options
