import tvm
from tvm import relax
from tvm.relax.dpl import is_op, rewrite_call, wildcard
from tvm.script import relax as R


@tvm.script.ir_module
class Module:
    @R.function
    def main(x: R.Tensor((4,), "float32"), y: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        with R.dataflow():
            result = R.subtract(x, y)
            R.output(result)
        return result


a, b = wildcard(), wildcard()
print(rewrite_call(is_op("relax.subtract")(a, b), lambda _, found: relax.op.subtract(found[b], found[a]), Module["main"]))
