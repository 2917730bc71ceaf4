#pragma once
// Forward declarations of the ONNX messages, so that our headers do without protobuf's.

namespace onnx {
class AttributeProto;
class FunctionProto;
class GraphProto;
class ModelProto;
class NodeProto;
class TensorProto;
class ValueInfoProto;
}  // namespace onnx
