#pragma once
// The terms over an operator set, enumerated bottom-up and divided into classes of equal value.
//
// What is enumerated. A term has one output; a graph with several outputs is as many terms, since
// two such graphs are equal if and only if their outputs are. Terms are built over classes: an
// operator is applied to classes, not to the terms in them, once for all. This loses no rule modulo
// congruence: if t = op(a, b) and a' and b' represent the classes of a and b, then t = op(a', b')
// follows from a = a' and b = b', which are rules found before, and only op(a', b') can teach
// something new. So rules hold in an e-graph, which is closed under congruence.
//
// Size. The cost of a term is the number of different operators that compute it, outputs of one
// operator counted once. A representative has the smallest cost of its class, but two members of
// larger cost can have operators in common, so that the term over both is within the limit although
// its representatives together are not. Pairs of classes that have such members are listed
// (shared_pairs) and enumerated too. Hence every term of at most N operators over the inputs, in
// which operators of three operands share between the first two only, is congruent to one that was
// evaluated.
//
// Fingerprints. Inputs are dyadic fractions chosen at random, six times: of either sign (three
// times), positive, and of one sign for each input, first the one and then the other. Division by
// zero is infinite for five of the choices, as in the interpreter, and undefined for the other one.
// Values are computed by tapes (generator/tape.h), in doubles, in which sums, products, maxima and
// comparisons of such numbers are exact. The key of a value is a positive linear functional of the
// first choice, which rounding errors change in the last digits only; it is cut to 38 bits, and a
// key that lies close to another bucket is looked for there too. A hit is followed by a comparison
// of all elements, for all choices of the inputs. What survives is a candidate, which is checked
// again for other sizes (generator/symbolic.h).

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <absl/container/flat_hash_map.h>

#include "generator/class_values.h"
#include "generator/operator_set.h"
#include "generator/tape.h"
#include "generator/term_index.h"
#include "ranks/ranks.h"

namespace lemma::generator {

/// An operator applied to operands of given types.
struct Plan {
  std::uint32_t op = 0;
  std::array<std::uint32_t, most_operands> operand_types = {nothing, nothing, nothing};
  std::vector<std::uint32_t> output_types;
  Tape tape;
};

struct TermStatistics {
  std::uint64_t evaluated = 0;   // terms
  std::uint64_t classes = 0;     // of values, those of the largest terms with a partner only
  std::uint64_t collisions = 0;  // keys that were equal for different values
  std::vector<std::uint64_t> evaluated_by_cost;
  std::vector<std::uint64_t> applications;  // by operator of the set
  // Of the groups of largest terms, those that rules of smaller terms join:
  std::uint64_t joined_groups = 0, joined_terms = 0;
  // Of the largest terms, on several ranks:
  std::uint64_t rounds = 0;      // exchanges
  std::uint64_t sent_bytes = 0;  // by all ranks
};

class ClassEvaluator;  // evaluation.h
class EqualGroups;     // equal_groups.h
class LargestGroups;   // largest_groups.h
struct Group;          // joining.h
struct Piece;          // applications.h
class RangeFiles;      // range_file.h

/// Whether values are equal up to rounding.
bool equal_values(const double* a, const double* b, std::size_t count);
/// How many independent choices of the inputs' contents there are.
inline constexpr std::size_t choice_count = 6;

class TermTable {
 public:
  TermTable(const OperatorSet& set, std::uint64_t seed);
  TermTable(const TermTable&) = delete;
  TermTable& operator=(const TermTable&) = delete;
  ~TermTable();

  const OperatorSet& set() const { return set_; }
  const Blocks<TermNode>& nodes() const { return nodes_; }
  const Blocks<TermClass>& classes() const { return classes_; }
  /// The nodes of a class, in the order in which they were added.
  MemberRange members(ClassId id) const { return {next_member_, classes_[id].representative}; }
  /// Numbers of the operators that compute a node, ascending: at most as many as its cost, then nothing. Outputs
  /// of one operator have one number.
  std::span<const std::uint32_t> applications(TermNodeId id) const;
  const std::vector<std::vector<std::int64_t>>& types() const { return types_; }
  const TermStatistics& statistics() const { return statistics_; }

  struct Options {
    int threads = 1;
    std::size_t memory = 4'000'000'000;  // bytes that the process may take
    std::size_t range_bytes = 0;         // of the keys of one range; 0: a part of the memory
    std::function<bool()> cancelled;
    std::function<void(std::string_view stage, double fraction)> progress;
    ranks::Ranks* ranks = nullptr;  // that share the largest terms; null: this process alone
  };

  /// Adds all terms of this cost; the next one after those added.
  Result<void> add_level(std::size_t cost, const Options& options);
  /// Evaluates the terms of this cost without keeping them: the groups of equal ones, in order of
  /// their smallest term (generator/largest.h), on the first of several ranks; the others get none.
  /// Ranges of keys that are finished are kept in files. Groups of which `is_joined` says that there is no more to do
  /// are only counted; several threads may ask it.
  using IsJoined = std::function<bool(const Group&)>;
  Result<EqualGroups> largest(std::size_t cost, const Options& options, const RangeFiles& files,
                              const IsJoined& is_joined);

  template <typename Visit>
  void for_each_plan(const Visit& visit) const {
    for (const auto& [key, plan] : plans_)
      if (plan != nullptr) visit(*plan);
  }

  /// Inputs that operands of these classes have, a bit each.
  std::uint64_t inputs_of(const Operands& operands) const {
    std::uint64_t result = 0;
    for (std::size_t i = 0; i < most_operands && operands[i] != nothing; ++i)
      result |= classes_[operands[i]].inputs;
    return result;
  }
  /// Whether of inputs of one shape the first ones are used. Any term becomes such a one by renaming
  /// inputs, and equal terms together do; so it is enough to look at these for equalities.
  bool uses_first_inputs(std::uint64_t inputs) const {
    for (const auto& [shift, mask] : alike_) {
      const std::uint64_t used = (inputs >> shift) & mask;
      if ((used & (used + 1)) != 0) return false;
    }
    return true;
  }

  /// Where two classes of one type have equal elements, for all choices of the inputs.
  std::vector<char> agreement(ClassId a, ClassId b) const;
  /// Whether operands that are declared weights are computed from weights alone, and the others are not, in a set that
  /// tells them apart.
  bool fits_weights(std::uint32_t op, const Operands& operands) const;
  bool fits_weight(std::uint32_t op, std::size_t operand, ClassId id) const;

  /// A node among those kept.
  std::optional<TermNodeId> find(std::uint32_t op, std::uint32_t output,
                                 std::array<ClassId, most_operands> operands) const;
  /// Whether the operator is commutative: operands are then in ascending order.
  std::array<ClassId, most_operands> normalized(std::uint32_t op, Operands operands) const;
  /// An operator and the types of its operands.
  using PlanKey = std::array<std::uint32_t, 1 + most_operands>;
  /// All combinations of the given types, by operand.
  std::vector<PlanKey> plan_keys(std::uint32_t op,
                                 std::span<const std::vector<std::uint32_t>> types) const;
  /// Makes the plans that are not there yet, on several threads. Types are numbered in the order of
  /// the keys.
  Result<void> make_plans(const std::vector<PlanKey>& keys, int threads);
  /// Notes which operators a level applies, and how often.
  void count_applications(const std::vector<Piece>& pieces);
  /// Whether some operator applies to values of this shape where it may take this input.
  bool is_taken(std::size_t input) const;
  /// Classes whose smallest term this operator makes.
  std::uint64_t classes_of(std::uint32_t op) const;
  /// A plan that was made; null if the operator does not apply to these types.
  const Plan* plan(const PlanKey& key) const { return plans_.at(key).get(); }
  const Plan& plan_of(const TermNode& node) const;

  /// Elements of a class for each choice of the inputs, one choice after the other; null if they are not kept
  /// (ClassEvaluator evaluates them).
  const double* values(ClassId id) const { return values_.find(id); }
  std::size_t size_of(std::uint32_t type) const { return sizes_[type]; }
  /// Of the functional, by element.
  const std::vector<double>& weights() const { return weights_; }
  /// Bytes of nodes, classes and what finds them, without elements and plans.
  std::size_t bytes() const;
  /// A number that is the same where nodes and classes are the same.
  std::uint64_t digest() const;

 private:
  friend class BucketReader;
  friend class LargestGroups;
  friend class LargestTerms;
  friend class LevelBuilder;
  struct Key {
    std::uint64_t bucket = 0;
    std::uint64_t neighbor = 0;  // the same as bucket, unless the key lies close to another one
  };

  void number_inputs();
  void add_inputs(std::uint64_t seed);
  std::uint32_t type_of(const std::vector<std::int64_t>& sizes);
  struct PlanDraft;
  Result<std::optional<PlanDraft>> draft_plan(const PlanKey& key) const;
  ClassId find_equal(const Key& key, std::uint32_t type, const double* values) const;
  /// Forgets elements of classes until this process takes at most so many bytes.
  void shrink_to(std::size_t bytes);
  /// An error if this process takes more than it may.
  Result<void> check_memory(const Options& options, std::size_t cost) const;
  ClassId insert(TermNode node, std::uint32_t type, const Key& key, const double* values);
  Key key_of(std::uint32_t type, double functional) const;

  const OperatorSet& set_;
  std::vector<std::vector<std::int64_t>> types_;
  std::vector<std::size_t> sizes_;
  Blocks<TermNode> nodes_;
  Blocks<TermNodeId> next_member_;        // by node: the next one of its class
  std::vector<TermNodeId> level_begins_;  // by cost: its first node
  std::vector<Rows<std::uint32_t>> applications_by_cost_;
  std::uint32_t application_count_ = 0;
  Blocks<TermClass> classes_;
  Blocks<std::uint64_t> keys_;  // by class
  Blocks<ClassId> next_;        // by class: the next one in its bucket
  ClassValues values_;
  BucketIndex buckets_;
  NodeIndex interned_;
  std::unique_ptr<ClassEvaluator> evaluator_;
  absl::flat_hash_map<PlanKey, std::unique_ptr<Plan>> plans_;
  std::vector<unsigned> input_bits_;                       // by input
  std::vector<std::pair<unsigned, std::uint64_t>> alike_;  // bits of inputs of one shape
  std::uint64_t weight_bits_ = 0;                          // of inputs that are weights
  std::vector<double> weights_;                            // of the functional, by element
  TermStatistics statistics_;
};

}  // namespace lemma::generator
