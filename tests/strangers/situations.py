"""Situations of public reports about tools that rewrite ONNX models, as small models of Lemma's own.

Each says where the report is, what goes wrong there, and how many nodes Lemma may leave (subgraphs included, Constant
nodes not). docs/situations.md is the table of them.
"""

import dataclasses

import onnx.parser


@dataclasses.dataclass
class Situation:
    name: str
    source: str  # owner/repository#number
    what: str  # one sentence about what goes wrong there
    text: str  # inputs => outputs { nodes }
    most_nodes: int  # that `lemma simplify` may leave
    opset: int = 17
    ir: int = 8

    def model(self):
        return onnx.parser.parse_model(f'<ir_version: {self.ir}, opset_import: ["" : {self.opset}]>\n g {self.text}')


SITUATIONS = [
    Situation("transpose_identity_product", "microsoft/onnxruntime#32228",
              "a Transpose that changes nothing before a product is taken for one that exchanges rows and columns",
              "(float[4,4] a, float[4,4] b, float[4] c) => (float[4,4] y) { t = Transpose <perm = [0, 1]> (a)"
              " p = MatMul (t, b) y = Add (p, c) }", 2),
    Situation("transpose_identity_gemm", "microsoft/onnxruntime#32417",
              "the same before Gemm, with sizes that do not fit then",
              "(float[3,4] x, float[4,5] w, float[5] b) => (float[3,5] y) { t = Transpose <perm = [0, 1]> (x)"
              " y = Gemm (t, w, b) }", 1),
    Situation("gemm_transposed_bias", "microsoft/onnxruntime#12071",
              "the transposed third operand of Gemm is transposed again and again",
              "(float[3,4] x, float[4,5] w, float[5,3] c) => (float[3,5] y) { t = Transpose <perm = [1, 0]> (c)"
              " y = Gemm (x, w, t) }", 2),
    Situation("transposes_of_three_axes", "onnx/onnx#2446", "two permutations are composed in the wrong order",
              "(float[2,3,4] x) => (float[3,4,2] z) { y = Transpose <perm = [1, 0, 2]> (x)"
              " z = Transpose <perm = [0, 2, 1]> (y) }", 1),
    Situation("cast_before_folded_one", "microsoft/onnxruntime#32416",
              "a Cast to its own type disappears while a product with a folded 1 still reads it",
              "(float[4] x) => (float[4] y) { one = Constant <value = float {1.0}> () q = Div (one, one)"
              " m = Cast <to = 1> (x) y = Mul (m, q) }", 1),
    Situation("dropout_before_folded_one", "microsoft/onnxruntime#32414", "the same with Dropout",
              "(float[4] x) => (float[4] y) { one = Constant <value = float {1.0}> () q = Div (one, one)"
              " m = Dropout (x) y = Mul (m, q) }", 1),
    Situation("identity_before_folded_one", "microsoft/onnxruntime#32413", "the same with Identity and a sum with 0",
              "(float[4] x) => (float[4] y) { one = Constant <value = float {1.0}> () q = Div (one, one)"
              " zero = Constant <value = float {0.0}> () m = Identity (x) w = Mul (m, q) y = Add (w, zero) }", 2),
    Situation("relu_clip_double", "microsoft/onnxruntime#24158", "Relu and Clip of f64 are fused for f32 only",
              "(double[4] x) => (double[4] y) { low = Constant <value = double {-1.0}> ()"
              " high = Constant <value = double {6.0}> () r = Relu (x) y = Clip (r, low, high) }", 2),
    Situation("transpose_beside_pool", "microsoft/onnxruntime#15008",
              "a Transpose of three axes is moved past operators of four",
              "(float[2,3,4] x, float[2,4,3] z, float[2,4,5,5] i) => (float[2,4,6] y, float[2,4,1,1] g)"
              " { a = Add (x, x) t = Transpose <perm = [0, 2, 1]> (a) y = Concat <axis = 2> (t, z)"
              " g = GlobalAveragePool (i) }", 4),
    Situation("transpose_identity_squeeze", "microsoft/onnxruntime#9671",
              "a Transpose is moved below a Squeeze whose axes are not adapted",
              "(float[1,3,4] x) => (float[4,3] y) { axes = Constant <value = int64[1] {1}> ()"
              " t = Transpose <perm = [2, 0, 1]> (x) i = Identity (t) y = Squeeze (i, axes) }", 2),
    Situation("skip_normalisation_wide_gamma", "microsoft/onnxruntime#27455",
              "a residual sum and a normalisation whose scale has three axes are fused into an operator that takes one",
              "(float[1,2,4] x, float[1,2,4] s, float[1,1,4] g, float[4] b) => (float[1,2,4] y)"
              " { axes = Constant <value = int64[1] {-1}> () e = Constant <value = float {0.00001}> () a = Add (x, s)"
              " m = ReduceMean <axes = [-1]> (a) d = Sub (a, m) q = Mul (d, d) v = ReduceMean <axes = [-1]> (q)"
              " w = Add (v, e) r = Sqrt (w) n = Div (d, r) h = Mul (n, g) y = Add (h, b) }", 10),
    Situation("rms_scale_widens", "onnx/onnx#8203",
              "the product behind a normalisation makes the result larger, and is fused all the same",
              "(float[1,1] x, float[2] g) => (float[1,2] y) { e = Constant <value = float {0.00001}> ()"
              " two = Constant <value = float {2.0}> () p = Pow (x, two) m = ReduceMean <axes = [-1]> (p) a = Add (m, e)"
              " s = Sqrt (a) d = Div (x, s) y = Mul (d, g) }", 6),
    Situation("normalisation_of_two_axes", "microsoft/onnxruntime#17060",
              "a normalisation over two axes gets the axis of one",
              "(float[2,3,4] x, float[3,4] g, float[3,4] b) => (float[2,3,4] y)"
              " { e = Constant <value = float {0.00001}> () m = ReduceMean <axes = [1, 2]> (x) d = Sub (x, m) q = Mul (d, d)"
              " v = ReduceMean <axes = [1, 2]> (q) w = Add (v, e) r = Sqrt (w) n = Div (d, r) h = Mul (n, g) y = Add (h, b) }",
              9),
    Situation("quantized_sum", "microsoft/onnxruntime#32132",
              "a sum between Dequantize and Quantize becomes one of integers that rounds otherwise",
              "(float[8] x, float[8] z) => (float[8] y) { s = Constant <value = float {0.05}> ()"
              " o = Constant <value = int8 {3}> () a = QuantizeLinear (x, s, o) b = DequantizeLinear (a, s, o)"
              " c = QuantizeLinear (z, s, o) d = DequantizeLinear (c, s, o) p = Add (b, d) q = QuantizeLinear (p, s, o)"
              " y = DequantizeLinear (q, s, o) }", 7),
    Situation("two_quantizations", "microsoft/onnxruntime#25259",
              "two pairs of Quantize and Dequantize with different scales become one",
              "(float[8] x) => (float[8] y) { s = Constant <value = float {0.05}> () t = Constant <value = float {0.3}> ()"
              " o = Constant <value = int8 {3}> () a = QuantizeLinear (x, s, o) b = DequantizeLinear (a, s, o)"
              " c = QuantizeLinear (b, t, o) y = DequantizeLinear (c, t, o) }", 4),
    Situation("quantized_resize", "microsoft/onnxruntime#21319",
              "a linear Resize between Dequantize and Quantize is computed in integers",
              "(float[1,1,1,2] x) => (float[1,1,1,n] y) { s = Constant <value = float {1.0}> ()"
              " o = Constant <value = int8 {0}> () f = Constant <value = float[4] {1.0, 1.0, 1.0, 3.0}> ()"
              " a = QuantizeLinear (x, s, o) b = DequantizeLinear (a, s, o) r = Resize <mode = \"linear\"> (b, , f)"
              " c = QuantizeLinear (r, s, o) y = DequantizeLinear (c, s, o) }", 5, opset=19, ir=9),
    Situation("constants_through_where", "microsoft/onnxruntime#19249", "constants that depend on constants stay computed",
              "(float[2,3] x) => (float[2,3] y) { k = Constant <value = int64[2] {2, 3}> ()"
              " o = Constant <value = int64[2] {1, 1}> () n = Constant <value = int64[2] {-1, -1}> () c = Mul (o, n)"
              " e = Equal (k, c) w = Where (e, o, k) y = Expand (x, w) }", 1),
    Situation("negative_pads_before_convolution", "microsoft/onnxscript#2838",
              "negative pads, which cut, become pads of the convolution, which must not be negative",
              "(float[1,2,6,6] x, float[3,2,3,3] w) => (float[1,3,a,b] y)"
              " { p = Constant <value = int64[8] {0, 0, -1, 1, 0, 0, 0, -1}> () q = Pad (x, p) y = Conv (q, w) }", 2),
    Situation("pad_before_maximum", "onnx/optimizer#269",
              "zeros around an image become pads of a pool, which count otherwise",
              "(float[1,2,6,6] x) => (float[1,2,a,b] y, float[1,2,c,d] z)"
              " { p = Constant <value = int64[8] {0, 0, 1, 1, 0, 0, 1, 1}> () q = Pad (x, p)"
              " y = MaxPool <kernel_shape = [2, 2]> (q) z = AveragePool <kernel_shape = [2, 2]> (q) }", 3),
    Situation("pad_before_automatic_pads", "onnx/optimizer#33", "pads are added to a convolution that pads by itself",
              "(float[1,2,6,6] x, float[3,2,3,3] w) => (float[1,3,a,b] y)"
              " { p = Constant <value = int64[8] {0, 0, 1, 1, 0, 0, 1, 1}> () q = Pad (x, p)"
              " y = Conv <auto_pad = \"SAME_UPPER\", strides = [2, 2]> (q, w) }", 2),
    Situation("pad_with_two_readers", "tsingmicro-toolchain/OnnxSlim#29",
              "a Pad that two convolutions read is removed for one of them",
              "(float[1,2,6,6] x, float[3,2,3,3] w, float[3,2,5,5] v) => (float[1,3,a,b] y, float[1,3,c,d] z)"
              " { p = Constant <value = int64[8] {0, 0, 2, 2, 0, 0, 2, 2}> () q = Pad (x, p) y = Conv (q, w) z = Conv (q, v) }",
              3),
    Situation("computed_pads", "tsingmicro-toolchain/OnnxSlim#4", "the pads are an input, not a constant",
              "(float[1,2,6,6] x, int64[8] p, float[3,2,3,3] w) => (float[1,3,a,b] y) { q = Pad (x, p) y = Conv (q, w) }", 2),
    Situation("normalisation_after_convolution", "onnx/optimizer#255",
              "a BatchNormalization that is folded into a convolution changes the result by more than rounding",
              "(float[1,2,5,5] x) => (float[1,2,3,3] y)"
              " <float[2,2,3,3] w = {1,2,3,4,5,6,7,8,9,9,8,7,6,5,4,3,2,1,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1,0,1,0},"
              " float[2] s = {1000.0, 0.001}, float[2] b = {3.0, 4.0}, float[2] m = {0.5, 100.0}, float[2] v = {0.0001, 50.0}>"
              " { c = Conv (x, w) y = BatchNormalization (c, s, b, m, v) }", 2),
    Situation("shared_weight_normalisation", "onnx/optimizer#178",
              "the weights of two convolutions are one tensor, and a normalisation behind one of them changes both",
              "(float[1,2,5,5] x) => (float[1,2,5,5] y, float[1,2,5,5] z) <float[2,2,1,1] w = {1,2,3,4},"
              " float[2] s = {2.0, 3.0}, float[2] b = {1.0, 0.0}, float[2] m = {0.5, 1.0}, float[2] v = {1.0, 4.0}>"
              " { c = Conv (x, w) y = BatchNormalization (c, s, b, m, v) z = Conv (x, w) }", 2),
    Situation("slice_of_shape", "onnx/optimizer#263", "a Slice of a Shape with negative starts and steps takes other sizes",
              "(float[a,b,c] x) => (int64[n] y, int64[m] z) { s = Shape (x) f = Constant <value = int64[1] {-1}> ()"
              " t = Constant <value = int64[1] {-9}> () d = Constant <value = int64[1] {-2}> ()"
              " e = Constant <value = int64[1] {0}> () y = Slice (s, f, t, e, d) u = Constant <value = int64[1] {-2}> ()"
              " i = Constant <value = int64[1] {9}> () z = Slice (s, u, i) }", 4),
    Situation("concat_of_one", "onnx/optimizer#252", "a Concat of one tensor disappears with the name of an output",
              "(float[2,3] x) => (float[2,3] y, float[2,3] z) { y = Concat <axis = 0> (x) z = Relu (y) }", 2),
    Situation("squeezes_in_a_row", "onnx/optimizer#253", "the axes of two Squeezes are joined as if both counted from the start",
              "(float[1,2,1,3,1] x) => (float[2,3] y) { a = Constant <value = int64[1] {0}> ()"
              " b = Constant <value = int64[2] {1, 3}> () s = Squeeze (x, a) y = Squeeze (s, b) }", 1),
    Situation("expand_that_grows", "onnx/optimizer#275", "an Expand by a shape of ones and one that grows are taken for the same",
              "(float[2,1,3] x) => (float[2,1,3] y, float[2,4,3] z) { a = Constant <value = int64[3] {1, 1, 1}> ()"
              " b = Constant <value = int64[3] {2, 4, 3}> () y = Expand (x, a) z = Expand (x, b) }", 2),
    Situation("product_with_ones_widens", "onnx/optimizer#285", "a product with ones disappears although it adds an axis",
              "(float[3] x) => (float[1,2,3] y) { o = Constant <value = float[1,2,1] {1.0, 1.0}> () y = Mul (x, o) }", 1),
    Situation("pads_of_zero", "onnx/optimizer#278", "a Pad of nothing in the mode reflect",
              "(float[2,3] x) => (float[2,3] y) { p = Constant <value = int64[4] {0, 0, 0, 0}> ()"
              " q = Pad <mode = \"reflect\"> (x, p) y = Neg (q) }", 1),
    Situation("dropout_mask", "onnx/optimizer#274", "the mask of a Dropout is an output, and the Dropout disappears",
              "(float[4] x) => (float[4] y, bool[4] m) { d, m = Dropout (x) y = Neg (d) }", 2),
    Situation("split_with_an_empty_part", "onnx/optimizer#283", "a Split into one part, and one into a part without elements",
              "(float[4] x) => (float[4] y, float[4] z, float[0] e) { a = Constant <value = int64[1] {4}> ()"
              " b = Constant <value = int64[2] {4, 0}> () s = Split (x, a) y = Neg (s) t, e = Split (x, b) z = Abs (t) }", 4),
    Situation("reshape_with_zero", "onnx/optimizer#282", "0 in a shape copies a size, or with allowzero is one",
              "(float[2,0,3] x, float[2,4] z) => (float[0,6] y, float[2,4] w) { a = Constant <value = int64[2] {0, 6}> ()"
              " b = Constant <value = int64[2] {0, 0}> () y = Reshape <allowzero = 1> (x, a) r = Reshape (z, b) w = Neg (r) }",
              2),
    Situation("flatten_by_axis", "onnx/optimizer#276", "a Flatten at the first axis, and one at a negative axis, change nothing or all",
              "(float[2,3] x) => (float[1,6] y, float[2,3] z) { a = Flatten <axis = 0> (x) y = Neg (a)"
              " b = Flatten <axis = -1> (x) z = Abs (b) }", 3),
    Situation("transpose_of_one", "onnx/optimizer#284", "a Transpose that moves an axis of size 1 keeps the order of elements, not the shape",
              "(float[1,2,3] x) => (float[2,1,3] y, float[1,2,3] z) { y = Transpose <perm = [1, 0, 2]> (x)"
              " t = Transpose <perm = [0, 1, 2]> (x) z = Neg (t) }", 2),
    Situation("casts_that_lose", "onnx/optimizer#273", "a Cast to a smaller type and back is taken for nothing",
              "(float[4] x, int64[4] i) => (float[4] y, int64[4] j, float[4] z) { h = Cast <to = 10> (x) y = Cast <to = 1> (h)"
              " k = Cast <to = 6> (i) j = Cast <to = 7> (k) d = Cast <to = 11> (x) z = Cast <to = 1> (d) }", 6),
    Situation("clip_to_nan", "apache/tvm#19533", "an upper bound of Clip that is NaN",
              "(float[5] x, float high) => (float[5] y) { low = Constant <value = float {0.0}> () y = Clip (x, low, high) }", 1),
    Situation("minimum_of_nan", "apache/tvm#19540", "Min and ArgMin of NaN",
              "(float[4] x, float[4] z) => (float[4] y, int64[1] i) { y = Min (x, z) i = ArgMin <axis = 0> (x) }", 2),
    Situation("relu_of_nan", "apache/tvm#19572", "Relu, Sign and maxima of NaN",
              "(float[4] x) => (float[4] y, float[4] s, float[1] m) { y = Relu (x) s = Sign (x) m = ReduceMax <axes = [0]> (x) }", 3),
    Situation("arguments_of_nan", "apache/tvm#19558", "ArgMax of NaN, and of values that are equal",
              "(float[5] x) => (int64[1] y, int64[1] z) { y = ArgMax <axis = 0> (x)"
              " z = ArgMax <axis = 0, select_last_index = 1> (x) }", 2),
    Situation("reduction_over_no_axes", "apache/tvm#18072", "a reduction whose list of axes is empty reduces all, or nothing",
              "(float[2,3] x) => (float[1,1] y, float[2,3] z) { e = Constant <value = int64[0] {}> () y = ReduceL1 (x, e)"
              " r = ReduceSum <noop_with_empty_axes = 1> (x, e) z = Neg (r) }", 2, opset=18),
    Situation("mean_of_one_constant", "apache/tvm#20147", "Mean, Sum, Min and Max of one constant reduce it",
              "(float[2,3] x) => (float[2,3] y) { c = Constant <value = float[2,3] {1.0, 2.0, 3.0, 4.0, 5.0, 6.0}> ()"
              " m = Mean (c) s = Sum (c) a = Add (x, m) y = Add (a, s) }", 4),
    Situation("flatten_before_reduction", "apache/tvm#7270", "a reduction behind a Flatten loses an axis",
              "(float[2,3,4] x) => (float[1,24] y) { f = Flatten <axis = 0> (x) a = Abs (f) z = Constant <value = int64[1] {0}> ()"
              " y = ReduceSum (a, z) }", 3),
    Situation("product_second_in_sum", "inisis/OnnxSlim#160",
              "a product that is the second operand of a sum, which another node reads too",
              "(float[2,3] x, float[3,4] w, float[4] b) => (float[2,4] y, float[2,4] z) { p = MatMul (x, w) s = Add (b, p)"
              " y = Relu (s) z = Neg (s) }", 4),
    Situation("concat_of_sizes", "inisis/OnnxSlim#305", "a Concat of sizes is folded, and a reader keeps the old name",
              "(float[2,3,4] x) => (float[2,12] y, int64[2] s) { h = Shape (x) i = Constant <value = int64[1] {0}> ()"
              " g = Gather (h, i) n = Constant <value = int64[1] {-1}> () s = Concat <axis = 0> (g, n) y = Reshape (x, s) }", 2),
    Situation("shape_of_a_part", "tsingmicro-toolchain/OnnxSlim#38", "the attributes start and end of Shape are overlooked",
              "(float[1,3,5,7] x) => (float[1,3,5,7] y, int64[2] s) { s = Shape <start = 2> (x) z = Constant <value = int64[2] {0, 0}> ()"
              " a = Constant <value = int64[2] {2, 3}> () y = Slice (x, z, s, a) }", 2),
    Situation("product_of_three_axes", "inisis/OnnxSlim#223", "a product of three axes becomes Reshape, Gemm and Reshape",
              "(float[2,3,4] x, float[4,5] w, float[5] b) => (float[2,3,5] y) { p = MatMul (x, w) y = Add (p, b) }", 2),
    Situation("sum_behind_reshape", "inisis/OnnxSlim#211", "a sum behind the Reshape of a Gemm becomes its bias, though its axes differ",
              "(float[2,3] x, float[3,4] w, float[2,1] b) => (float[2,2,2] y) { g = Gemm (x, w)"
              " s = Constant <value = int64[3] {2, 2, 2}> () r = Reshape (g, s) y = Add (r, b) }", 3),
    Situation("shape_with_minus_one", "onnxsim/onnxsim#140", "the shape of a Reshape is computed, and -1 in it becomes a large number",
              "(float[n,3,4] x) => (float[n,12] y) { h = Shape (x) z = Constant <value = int64 {0}> () g = Gather (h, z)"
              " a = Constant <value = int64[1] {0}> () u = Unsqueeze (g, a) m = Constant <value = int64[1] {-1}> ()"
              " s = Concat <axis = 0> (u, m) y = Reshape (x, s) }", 1),
    Situation("slices_of_all", "microsoft/onnxruntime#885", "a Slice of everything with the largest integer as its end, in a branch",
              "(bool q, float[4] x) => (float[4] y) { y = If (q) <then_branch = t () => (float[4] o) {"
              " a = Constant <value = int64[1] {0}> () e = Constant <value = int64[1] {9223372036854775807}> ()"
              " s = Slice (x, a, e) o = Neg (s) }, else_branch = f () => (float[4] p) { p = Abs (x) }> }", 3),
    Situation("shape_of_fixed_sizes", "onnx/onnx#1309", "the shape of a tensor of fixed sizes stays computed",
              "(float[2,3,4] x) => (float[6,4] y) { h = Shape (x) a = Constant <value = int64[2] {0, 1}> () g = Gather (h, a)"
              " z = Constant <value = int64[1] {0}> () p = ReduceProd <axes = [0]> (g) m = Constant <value = int64[1] {-1}> ()"
              " s = Concat <axis = 0> (p, m) y = Reshape (x, s) }", 1),
    Situation("axes_out_of_order", "pytorch/pytorch#51096", "the axes of an Unsqueeze are not in order",
              "(float[3,4] x) => (float[1,3,1,4] y) { c = Constant <value = int64[2] {2, 0}> () y = Unsqueeze (x, c) }", 1),
]
