#pragma once
// Writing a model for another version of the standard operators.

#include "frontend_onnx/model.h"

namespace lemma {

/// The model, to be written for this operator set; export then takes the forms that its operators have there, and
/// says which one has none. An error: a node that is written back as it was may mean something else there.
Result<OnnxModel> for_operator_set(OnnxModel model, int version);

/// The model, to be written with IR version 4 if its own is older: before, constants that are no inputs have to be
/// nodes. Initializers are no inputs any more then.
Result<OnnxModel> with_initializers(OnnxModel model);

}  // namespace lemma
