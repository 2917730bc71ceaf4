#pragma once
// Which weights the units would keep (resident_weights.h), as far as a placement has been made.

#include <map>
#include <tuple>

#include "backend/schedule/dependencies.h"
#include "backend/schedule/resident_needs.h"

namespace lemma::backend {

class HeldWeights {
 public:
  /// Parts that a task needs together, by the order in which they were first asked for.
  using Number = std::uint32_t;
  static constexpr Number none = 0xffffffffU;

  /// The graph and the dependencies must outlive this.
  HeldWeights(const OperatorGraph& graph, const VirtualDevice& device, Dependencies& dependencies);

  /// What each task of an operator needs; empty where no task reads weights from its unit.
  const std::vector<Number>& needs(OperatorNumber op, std::uint32_t kernel);

  const std::vector<UnitNumber>& holders(Number number) const { return parts_[number].holders; }
  std::uint64_t bytes(UnitNumber unit) const { return bytes_[unit]; }
  /// A task on the unit needs it: from then on, the unit holds it, where it has room, and there is room for as many copies
  /// of all weights that are read again.
  void add(Number number, UnitNumber unit);

  /// The state now; what is added later can be taken back.
  std::size_t state() const { return added_.size(); }
  void restore(std::size_t state);

 private:
  struct Parts {
    std::uint64_t bytes = 0;
    std::vector<UnitNumber> holders;
  };
  Number number_of(const std::vector<ResidentPart>& parts);

  const OperatorGraph& graph_;
  Dependencies& dependencies_;
  std::vector<bool> is_repeated_;  // by buffer
  std::uint64_t room_ = 0;         // of each unit; 0 where none keeps weights
  std::size_t most_holders_ = 1;   // of the same parts
  std::vector<std::uint64_t> bytes_;
  std::vector<Parts> parts_;
  std::map<std::vector<ResidentPart>, Number> numbers_;
  /// The numbers of needs, by kind of operator, kernel, and the buffers of what may be kept.
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::vector<BufferNumber>>, std::vector<Number>>
      needs_;
  std::vector<std::pair<Number, UnitNumber>> added_;
};

}  // namespace lemma::backend
