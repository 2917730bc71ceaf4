#pragma once
// The contents of a ModelEnvelope. Messages are held in serialized form, with the data of large
// tensors taken out (frontend_onnx/wire.h).

#include <map>
#include <set>

#include "frontend_onnx/functions.h"
#include "frontend_onnx/model.h"
#include "frontend_onnx/tensor_source.h"

namespace lemma {

struct ModelEnvelope::Data {
  std::string header;  // ModelProto: no functions; the graph has only documentation and metadata
  std::int64_t ir_version = 0;
  frontend::OperatorSets operator_sets;
  std::map<std::string, std::string> declarations;  // ValueInfoProto by name
  std::map<std::string, std::string> overridable;   // TensorProto by name of the input
  std::set<std::string> initializers;               // names
  /// NodeProto without what it computes (name, documentation, metadata, devices), by the node's first output.
  std::map<std::string, std::string> node_remarks;
  /// TensorProto of an initializer without name and contents (documentation, metadata), by name.
  std::map<std::string, std::string> tensor_remarks;
  std::map<std::string, Constant> small_initializers;  // by name, those of integers
  std::map<std::string, std::string> functions;        // FunctionProto by function_key
  std::vector<std::string> quantization_annotations;   // TensorAnnotation
  std::vector<std::string> training;                   // TrainingInfoProto
  std::map<std::string, std::string> size_parameters;  // dim_param by symbol
  std::set<std::string> positive_sizes;  // symbols: the file's graph cannot run if one is 0
  std::shared_ptr<const frontend::TensorSource> source;  // of tensors in serialized messages
  std::set<std::string> runtimes;                        // whose own operators the file has
  bool external_data = false;
  std::int64_t file_nodes = 0;  // of the file's graph and bodies
  int taken_branches = 0;       // nodes in whose place a branch stands
  bool rewritten_bodies = false;
  std::vector<std::string> output_order;  // names of the file's outputs, if one is there twice
  std::vector<std::string> notes;
};

}  // namespace lemma
