#pragma once
// Connects the terms of each group by rules.

#include <functional>
#include <optional>
#include <vector>

#include "generator/join_journal.h"
#include "generator/joining.h"
#include "generator/rule_book.h"

namespace lemma::generator {

/// What is being done, and how much of it is done; an error ends the work.
using Interrupt =
    std::function<Result<void>(std::string_view stage, std::size_t done, std::size_t all)>;

/// Groups that are made when they are asked for, perhaps several times, by several threads.
struct GroupSource {
  std::size_t count = 0;
  std::function<Result<Group>(std::size_t number)> group;
};

class Joiner {
 public:
  Joiner(const TermTable& table, RuleBook& book, GenerateReport& report, int threads,
         Interrupt interrupt)
      : table_(table),
        book_(book),
        memory_(book.memory()),
        report_(report),
        threads_(threads),
        interrupt_(std::move(interrupt)) {}

  /// Reads and continues a journal of the groups that are joined.
  Result<void> open_journal(const std::filesystem::path& directory, std::string_view key) {
    return journal_.open(directory, key);
  }

  /// Writes rules until the terms of each group are joined, one group after the other. What known
  /// rules say is found ahead by several threads, and rules that will probably be wanted are made;
  /// the result is the same without.
  Result<void> join_all(const GroupSource& groups);
  /// Whether the rules that there are join all terms of the group. Several threads may ask.
  bool is_joined(const Group& group) const;
  /// Counts groups that are joined, and the terms in them.
  void count_joined(std::uint64_t groups, std::uint64_t terms);
  /// Whether it has several terms, one of which uses the first ones of inputs that can be exchanged. Others are not to
  /// be joined.
  bool is_wanted(const Group& group) const;

  /// Drops rules that follow from others: the largest first, of those of one size the ones with the
  /// fewest inputs. What another one was dropped for stays.
  Result<void> drop_derived();

 private:
  /// A rule that was written to join a term to its group.
  struct Connection {
    std::size_t group = 0;  // in groups_; set when it is kept: connect() runs beside others
    std::size_t term = 0, other = 0;  // of the group
    std::size_t rule = 0;
  };
  /// What is known of a group before its turn.
  struct Prepared {
    std::size_t terms = 0;
    std::optional<Group> group;      // nothing: all are joined
    std::optional<Joining> joining;  // the same
    std::size_t known_rules = 0;     // that were applied
  };
  using Way = std::optional<std::vector<std::size_t>>;

  Result<std::size_t> repeat(const GroupSource& groups, std::size_t phase);
  Prepared prepare(Group group) const;
  void make_ahead(const Group& group, Joining joining) const;
  void join(std::size_t number, Prepared prepared);
  template <typename Add, typename Apply>
  std::vector<Connection> connect(const Group& group, Joining& joining, const Add& add,
                                  const Apply& apply) const;
  void count(std::size_t terms);
  void keep(const Group& group, const std::vector<Connection>& written);
  void apply_rules(const RuleMemory& memory, const Group& group, std::size_t first_rule,
                   Joining& joining) const;
  void apply_rules(const RuleMemory& memory, const Group& group, std::size_t i,
                   std::size_t first_rule, std::size_t left_out, Joining& joining) const;
  Candidate candidate_of(const Group& group, std::size_t i, std::size_t other) const;
  std::vector<Connection> largest_first() const;
  Way way_without(const Connection& connection) const;
  void drop(const Connection& connection, Way way);

  const TermTable& table_;
  RuleBook& book_;
  RuleMemory& memory_;
  GenerateReport& report_;
  int threads_;
  Interrupt interrupt_;
  JoinJournal journal_;
  std::size_t phase_ = 0;
  std::vector<Group> groups_;  // in which rules were written
  std::vector<Connection> connections_;
  std::vector<char> needed_;  // by rule: another one was dropped for it
};

}  // namespace lemma::generator
