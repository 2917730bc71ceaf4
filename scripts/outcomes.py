"""Outcomes of many tests: classes with names and reasons, as an aligned table or as JSON."""

import json
from collections import Counter, defaultdict


class Outcomes:
    def __init__(self, classes):
        self.classes = list(classes)
        self.entries = {}

    def add(self, name, outcome, reason=""):
        """Of several results for one name the one of the class listed last stands."""
        assert outcome in self.classes, outcome
        known = self.entries.get(name)
        if known is None or self.classes.index(outcome) > self.classes.index(known[0]):
            self.entries[name] = (outcome, " ".join(reason.split()))

    def names(self, outcome):
        return sorted(name for name, entry in self.entries.items() if entry[0] == outcome)

    def names_with_reason(self, reason):
        return sorted(name for name, entry in self.entries.items() if entry[1] == reason)

    def counts(self):
        return {outcome: len(self.names(outcome)) for outcome in self.classes}

    def to_json(self, **extra):
        lists = {outcome: [{"name": name, "reason": self.entries[name][1]} for name in self.names(outcome)]
                 for outcome in self.classes}
        return json.dumps({**self.counts(), **extra, "tests": lists}, indent=1)

    def table(self, quiet=("passed",)):
        """Counts, then for every class but the quiet ones its reasons, most frequent first."""
        counts = self.counts()
        lines = [f"{outcome:20} {count:6}" for outcome, count in counts.items()]
        lines.append(f"{'total':20} {len(self.entries):6}")
        for outcome in self.classes:
            if outcome not in quiet and counts[outcome]:
                lines += ["", f"{outcome}:", *self.reasons(outcome)]
        return "\n".join(lines)

    def reasons(self, outcome):
        grouped = defaultdict(list)
        for name in self.names(outcome):
            grouped[self.entries[name][1] or "no reason given"].append(name)
        order = Counter({reason: len(names) for reason, names in grouped.items()}).most_common()
        return [f"  {count:4}  {reason}  ({abbreviated(grouped[reason])})" for reason, count in order]


def abbreviated(names, shown=4):
    rest = f", and {len(names) - shown} more" if len(names) > shown else ""
    return ", ".join(names[:shown]) + rest
