import sys

import lemma

print(bool(lemma.verify(sys.argv[1], sys.argv[3])))
