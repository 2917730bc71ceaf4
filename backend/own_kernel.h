#pragma once
// A kernel of one's own (ir/kernel_override.h) for one application of an operator, as task programs have it.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ir/kernel_override.h"

namespace lemma::backend {

struct OwnKernel {
  FoundOverride from;
  std::vector<TensorType> inputs;  // of the application
  Attributes attributes;
  std::string source;  // statements
  double operations = 0;
  std::int64_t rows = 1;
  std::size_t scratch_bytes = 0;

  Instance instance() const { return {inputs, attributes, 1}; }
  /// "kernel of its own", with the file that it is from.
  std::string origin_text() const;
  /// All that code and times depend on, but the types of arguments.
  std::string structure_text() const;
};

/// The kernel for an application; null where none applies, or where nothing of the result is to be computed. Errors
/// (`bad_input`) name the kernel: its rows, its scratch memory or its source cannot be.
Result<std::shared_ptr<const OwnKernel>> own_kernel_for(const OperatorRecord& op,
                                                        std::string_view target,
                                                        const Instance& instance,
                                                        std::int64_t elements);

}  // namespace lemma::backend
