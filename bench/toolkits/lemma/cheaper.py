import sys

import lemma

model, report = lemma.optimize(sys.argv[1], target="cpu")
print(report.operators_after, "operators")
