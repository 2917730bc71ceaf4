import lemma

a, b = lemma.tensor("a : [A..]"), lemma.tensor("b : [A..]")
print(lemma.rule_of("turned", a - b, b - a).prove())
