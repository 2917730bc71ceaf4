// Import is total: any bytes give a model or an error. What was imported can be exported, and what
// was exported can be imported.

#include <cstdio>
#include <cstdlib>

#include "frontend_onnx/export.h"
#include "frontend_onnx/import.h"
#include "ir/check.h"

namespace {

void demand(bool condition, const char* what, const lemma::Error& error) {
  if (condition) return;
  std::fprintf(stderr, "%s: %s\n", what, error.message.c_str());
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace lemma;
  ImportOptions options;
  options.inlined_node_limit = 1000;
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto model = import_model(nullptr, bytes, {}, options);
  if (!model) {
    demand(model.error().kind != ErrorKind::internal, "import", model.error());
    return 0;
  }
  const auto well_formed = check(model->graph, Stage::imported);
  if (!well_formed) demand(false, "not well-formed", well_formed.error());
  const auto written = serialize_model(*model);
  if (!written) {
    // An operator set may lack the means to compute a symbolic size.
    demand(written.error().kind == ErrorKind::unsupported, "export", written.error());
    return 0;
  }
  const auto again = import_model(nullptr, std::as_bytes(std::span(*written)), {}, options);
  if (!again) demand(false, "second import", again.error());
  return 0;
}
