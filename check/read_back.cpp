#include "check/read_back.h"

#include "facts/same_structure.h"

namespace lemma {

Result<OnnxModel> read_back(const std::filesystem::path& file, const Graph& written,
                            const std::set<std::string, std::less<>>& opaque_outputs,
                            const ImportOptions& options) {
  ImportOptions as_written = options;
  as_written.opaque_outputs = opaque_outputs;
  as_written.takes_branches = false;  // of an If whose condition has become constant
  LEMMA_ASSIGN_OR_RETURN(OnnxModel model, import_model(file, as_written));
  LEMMA_RETURN_IF_ERROR(check_same_structure(written, model.graph));
  take_labels(written, model.graph);
  return model;
}

}  // namespace lemma
