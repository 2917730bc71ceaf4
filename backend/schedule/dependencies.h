#pragma once
// Which tasks of one operator read what which tasks of another write. Derived once for each pair of kinds of operators
// and their kernels: a recurrent network has thousands of operators of a few kinds.

#include <map>
#include <optional>
#include <span>
#include <tuple>

#include "backend/program.h"

namespace lemma::backend {

/// The tasks of a writer that each task of a reader reads of. Tasks that read of the same ones form
/// a group.
struct TaskLists {
  std::vector<std::uint32_t> group;               // by task of the reader
  std::vector<std::vector<std::uint32_t>> lists;  // by group: tasks of the writer, ascending
};

class Dependencies {
 public:
  explicit Dependencies(const OperatorGraph& graph);

  /// The source of an operand: the operator that makes it, if one does, and which of its results it
  /// is.
  struct Source {
    std::size_t argument = 0;
    OperatorNumber writer = 0;
    std::size_t result = 0;
  };
  const std::vector<Source>& sources(OperatorNumber op) const { return sources_[op]; }

  const TaskLists& tasks(const Source& source, std::uint32_t writer_kernel, OperatorNumber reader,
                         std::uint32_t reader_kernel);

  /// What each task of the operator reads and writes.
  std::vector<TaskAccess> accesses_of(OperatorNumber op, std::uint32_t kernel);

 private:
  struct KindAccesses {
    OperatorNumber op = 0;  // that they were derived from
    std::vector<TaskAccess> tasks;
  };
  const KindAccesses& kind_accesses(OperatorNumber op, std::uint32_t kernel);

  const OperatorGraph& graph_;
  std::vector<std::vector<Source>> sources_;                                  // by operator
  std::map<std::pair<std::uint32_t, std::uint32_t>, KindAccesses> accesses_;  // by kind and kernel
  /// Kind, kernel and result of the writer; kind, kernel and argument of the reader.
  using Key = std::tuple<std::uint32_t, std::uint32_t, std::size_t, std::uint32_t, std::uint32_t,
                         std::size_t>;
  std::map<Key, TaskLists> lists_;
};

}  // namespace lemma::backend
