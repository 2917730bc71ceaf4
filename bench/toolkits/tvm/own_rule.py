import tvm
from tvm import relax
from tvm.relax.dpl import is_op, rewrite_call, wildcard
from tvm.script import relax as R


@tvm.script.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32"), z: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        with R.dataflow():
            left = R.multiply(x, y)
            right = R.multiply(x, z)
            result = R.add(left, right)
            R.output(result)
        return result


a, b, c = wildcard(), wildcard(), wildcard()
pattern = is_op("relax.add")(is_op("relax.multiply")(a, b), is_op("relax.multiply")(a, c))
main = rewrite_call(pattern, lambda _, found: relax.op.multiply(found[a], relax.op.add(found[b], found[c])), Module["main"])
print(relax.analysis.remove_all_unused(main))
