import sys

import lemma

lemma.optimize(sys.argv[2])
