import lemma

a, b, c = (lemma.tensor(f"{name} : [A..]") for name in "abc")
rule = lemma.rule_of("factored", a * b + a * c, a * (b + c))
verdict = rule.prove()
print(verdict.verdict, "by", " and ".join(verdict.proofs))
