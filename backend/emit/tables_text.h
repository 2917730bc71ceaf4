#pragma once
// The schedule of a program as constant tables for parts/run_time.h.

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "backend/emit/kernel_text.h"

namespace lemma::backend {

/// "QUALIFIER TYPE NAME[] = {...};", several entries a line. An array of C has at least one element.
class Table {
 public:
  Table(std::string_view type, std::string_view name, std::string_view qualifier = "constexpr");

  void add(const std::string& entry);
  void start_group(const std::string& comment);
  std::string finish(const std::string& if_empty);

 private:
  std::string text_;
  std::size_t width_ = 0;
  bool is_empty_ = true;
};

/// The tables of programs for several sizes of the same inputs, or of segments, each in a namespace. `name`: of the program.
/// `arena_bytes`: of all of them.
std::string tables_text(std::span<const TaskProgram> programs, const KernelTexts& kernels,
                        const std::string& name, const std::string& weight_digest,
                        std::uint64_t arena_bytes);

/// Names of an input's dimensions, where they have any, by its name.
using DimensionNames = std::map<std::string, std::vector<std::string>>;
/// The tables of parts/tensors.h.in.
std::string tensor_tables(std::span<const TaskProgram> programs, const DimensionNames& dimensions);

/// What belongs to one of several sizes: "namespace size_0 {...}".
std::string in_namespace(std::size_t size, const std::string& text);

// Parts of it, which the tables of other targets share. Memories are the arena, the weights, the inputs and the outputs.
std::string location_text(const TaskProgram& program, const Buffer& buffer);
/// `qualifier`: of the tables.
std::string steps_text(const TaskProgram& program, const std::string& qualifier);

/// The text as a string of C.
std::string quoted_text(std::string_view text);
/// "f32[1, 3]"; of a buffer that is another one in each program, "f32[1/2/4, 3]" where sizes differ.
std::string type_text(std::span<const TaskProgram> programs,
                      const std::vector<BufferNumber> OperatorGraph::*buffers,
                      std::size_t position);

std::size_t wait_count(const TaskProgram& program);

}  // namespace lemma::backend
