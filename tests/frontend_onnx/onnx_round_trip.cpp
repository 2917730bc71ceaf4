// onnx_round_trip INPUT.onnx OUTPUT.onnx [--opaque] [--runtime=NAME] [NAME:SIZE,SIZE...]...
// Imports and exports a model, nothing else; --opaque lists what stayed opaque and why, --runtime=NAME says whose own
// operators may be written (no name: nobody's).

#include <cstdio>
#include <cstring>
#include <string>

#include "frontend_onnx/export.h"
#include "frontend_onnx/import.h"

using namespace lemma;

namespace {

int report(const Error& error) {
  std::fprintf(stderr, "onnx_round_trip: %s\n", error.message.c_str());
  return error.kind == ErrorKind::internal ? 1 : 2;
}

Result<void> add_shape(const std::string& text, ImportOptions& options) {
  const std::size_t colon = text.rfind(':');
  if (colon == text.npos) return bad_input("expected NAME:SIZE,SIZE...");
  Shape shape;
  for (std::size_t at = colon + 1; at < text.size();) {
    const std::size_t comma = std::min(text.find(',', at), text.size());
    LEMMA_ASSIGN_OR_RETURN(Dimension size, parse_dimension(text.substr(at, comma - at)));
    shape.push_back(std::move(size));
    at = comma + 1;
  }
  options.shapes[text.substr(0, colon)] = shape;
  return {};
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) return 2;
  bool list_opaque = false;
  ImportOptions options;
  ExportOptions writing;
  constexpr std::string_view runtime = "--runtime=";
  for (int i = 3; i < count; ++i) {
    if (std::strcmp(arguments[i], "--opaque") == 0) {
      list_opaque = true;
    } else if (std::string_view(arguments[i]).starts_with(runtime)) {
      writing.runtime_operators = arguments[i] + runtime.size();
    } else if (auto added = add_shape(arguments[i], options); !added) {
      return report(added.error());
    }
  }
  auto model = import_model(arguments[1], options);
  if (!model) return report(model.error());
  if (list_opaque)
    for (const NodeId id : model->graph.live_nodes()) {
      const Node& node = model->graph.node(id);
      if (node.kind != NodeKind::opaque) continue;
      const OpaqueOperator& opaque = model->graph.opaque(node);
      std::printf("%s\t%s\n", opaque.name.c_str(), opaque.reason.c_str());
    }
  auto written = export_model(*model, arguments[2], writing);
  return written ? 0 : report(written.error());
}
