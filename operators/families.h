#pragma once
// The families of operator records, one file each; operators/all_operators.cpp joins them into one table.

#include <span>

#include "ir/operator.h"

namespace lemma::operators {

std::span<const OperatorRecord> arithmetic();             // elementwise with one or more operands
std::span<const OperatorRecord> unary();                  // scalar functions of one operand
std::span<const OperatorRecord> activation();             // Relu, Sigmoid, Gelu, Clip, ...
std::span<const OperatorRecord> logic();                  // comparison, logic, Where, Cast
std::span<const OperatorRecord> contraction();            // MatMul, Gemm
std::span<const OperatorRecord> einsum();                 // Einsum
std::span<const OperatorRecord> quantization();           // QuantizeLinear and its relatives
std::span<const OperatorRecord> quantized_convolution();  // ConvInteger, QLinearConv
std::span<const OperatorRecord> convolution();            // Conv, ConvTranspose
std::span<const OperatorRecord> channel_blocks();    // convolutions and pools in blocked layout
std::span<const OperatorRecord> pooling();           // pools, windows
std::span<const OperatorRecord> reduction();         // sums, maxima, ... over axes
std::span<const OperatorRecord> softmax();           // Softmax, LogSoftmax, Hardmax
std::span<const OperatorRecord> normalization();     // layer, batch, instance, group, ...
std::span<const OperatorRecord> recurrence();        // GRU, LSTM, RNN
std::span<const OperatorRecord> recurrent_layers();  // the same as ONNX has them
std::span<const OperatorRecord>
quantized_recurrence();                    // the same of a runtime, with quantized weights
std::span<const OperatorRecord> fusion();  // what a runtime computes along with products
std::span<const OperatorRecord> skip_normalization();  // the same of normalizations
std::span<const OperatorRecord> loss();                // losses of classification
std::span<const OperatorRecord> shape();               // Reshape, Squeeze, Shape, Expand, ...
std::span<const OperatorRecord> generation();          // Range, ConstantOfShape, EyeLike, Trilu
std::span<const OperatorRecord> movement();            // Transpose, Concat, Split, Pad, ...
std::span<const OperatorRecord> slicing();             // Slice
std::span<const OperatorRecord> padding();             // Pad
std::span<const OperatorRecord> rearrangement();       // Tile, DepthToSpace, ReverseSequence, ...
std::span<const OperatorRecord> indexing();            // Gather, OneHot, TopK, ...
std::span<const OperatorRecord> scattering();          // ScatterElements, ScatterND, TensorScatter
std::span<const OperatorRecord> resampling();          // Resize
std::span<const OperatorRecord> attention();           // Attention, RotaryEmbedding
std::span<const OperatorRecord> multi_head_attention();  // attention of a runtime
std::span<const OperatorRecord> causal_convolution();    // CausalConvWithState
std::span<const OperatorRecord> linear_attention();      // LinearAttention
std::span<const OperatorRecord> deformable();            // DeformConv
std::span<const OperatorRecord> training();              // Adagrad, Momentum
std::span<const OperatorRecord> cropping();              // CenterCropPad, Col2Im
std::span<const OperatorRecord> sampling();              // GridSample, AffineGrid
std::span<const OperatorRecord> signal();                // Fourier transforms, windows
std::span<const OperatorRecord> devices();               // tensors over devices, collectives

}  // namespace lemma::operators
