#pragma once
// Tensors in files of their own, one TensorProto each: the form in which ONNX test data and `lemma
// run` keep inputs and outputs.

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.h"
#include "ir/constant.h"

namespace lemma {

struct NamedConstant {
  std::string name;  // may be empty
  Constant value;
};

/// Errors name the file. Strings are unsupported, as is data that lies in another file.
Result<NamedConstant> read_tensor_file(const std::filesystem::path& file);

/// The tensor in the contents of such a file.
Result<Constant> parse_tensor(const std::string& contents);

/// The contents of such a file.
std::string serialize_tensor(std::string_view name, const Constant& value);

}  // namespace lemma
