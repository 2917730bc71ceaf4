#pragma once
// Tensors on their way out: into the model file, or into the external data file beside it.

#include <map>
#include <string>
#include <vector>

#include "frontend_onnx/messages.h"
#include "frontend_onnx/tensor_source.h"

namespace lemma::frontend {

/// The layout of an external data file.
class DataFile {
 public:
  struct Entry {
    std::uint64_t offset = 0;
    SharedBytes bytes;
  };
  explicit DataFile(std::string location) : location_(std::move(location)) {}

  /// The offset of the bytes in the file; the same bytes are stored once.
  std::uint64_t place(const SharedBytes& bytes);
  const std::string& location() const { return location_; }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::string location_;
  std::uint64_t size_ = 0;
  std::vector<Entry> entries_;
  std::map<std::pair<const std::byte*, std::size_t>, std::uint64_t> offsets_;
};

class TensorWriter {
 public:
  /// Writes to the file. Without one all data stands in the model. With `all_external`, data that
  /// the original had in attributes and subgraphs goes to the file as well; else only where it came
  /// from one.
  TensorWriter(const TensorSource& source, DataFile* file, std::size_t threshold, bool all_external)
      : source_(source), file_(file), threshold_(threshold), all_external_(all_external) {}

  /// TensorProto content.
  Rope tensor(const std::string& name, const Constant& constant) const;
  /// A serialized tensor of the original with its data back in.
  Result<Rope> restored(std::string_view tensor) const;

 private:
  void append_data(SharedBytes bytes, bool may_be_external, Rope& tensor) const;

  const TensorSource& source_;
  DataFile* file_;
  std::size_t threshold_;
  bool all_external_;
};

}  // namespace lemma::frontend
