#include "frontend_onnx/model.h"

#include <onnx/onnx_pb.h>

#include "frontend_onnx/envelope.h"

namespace lemma {

ModelEnvelope ModelEnvelope::for_operator_set(int version) {
  constexpr std::int64_t ir_version = 8;
  auto data = std::make_shared<Data>();
  ::onnx::ModelProto header;
  header.set_ir_version(ir_version);
  header.set_producer_name("lemma");
  header.add_opset_import()->set_version(version);
  data->header = header.SerializeAsString();
  data->ir_version = ir_version;
  data->operator_sets[""] = version;
  data->source = std::make_shared<frontend::TensorSource>(frontend::SharedBytes{},
                                                          std::filesystem::path{}, false);
  return ModelEnvelope(std::move(data));
}

int ModelEnvelope::operator_set() const {
  const auto entry = data_->operator_sets.find("");
  return entry != data_->operator_sets.end() ? entry->second : 0;
}

std::int64_t ModelEnvelope::ir_version() const { return data_->ir_version; }
bool ModelEnvelope::used_external_data() const { return data_->external_data; }
std::size_t ModelEnvelope::default_count() const { return data_->overridable.size(); }
std::int64_t ModelEnvelope::file_nodes() const { return data_->file_nodes; }
bool ModelEnvelope::has_taken_branches() const { return data_->taken_branches != 0; }
bool ModelEnvelope::has_rewritten_bodies() const { return data_->rewritten_bodies; }
const std::vector<std::string>& ModelEnvelope::notes() const { return data_->notes; }

ModelEnvelope ModelEnvelope::with_rewritten_bodies() const {
  auto data = std::make_shared<Data>(*data_);
  data->rewritten_bodies = true;
  return ModelEnvelope(std::move(data));
}

ModelEnvelope ModelEnvelope::in_place_of(const ModelEnvelope& original) const {
  auto data = std::make_shared<Data>(*data_);
  data->external_data = original.data_->external_data;
  data->file_nodes = original.data_->file_nodes;
  data->taken_branches += original.data_->taken_branches;
  data->rewritten_bodies = data->rewritten_bodies || original.data_->rewritten_bodies;
  return ModelEnvelope(std::move(data));
}

}  // namespace lemma
