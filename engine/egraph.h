#pragma once
// An e-graph over any language: a set of terms and a congruence on them (Nelson and Oppen 1980;
// deferred rebuilding and analyses after Willsey et al., "egg", POPL 2021).
//
// All e-nodes of one class are equal. A class may contain itself below one of its nodes (x = x * 1);
// choosing one node for each class without running in circles is the matter of extraction.
//
// Canonical: find(c) == c. Children of e-nodes are canonical after rebuild(), not between unite()
// and rebuild(). Everything is ordered by number, so that two runs do the same.

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include <absl/container/inlined_vector.h>

#include "base/result.h"
#include "engine/ids.h"
#include "engine/language.h"
#include "engine/node_table.h"

namespace lemma::engine {

/// Nodes with up to this many children keep them within themselves.
inline constexpr std::uint32_t most_near = 2;

/// What a node says of itself, and its children, which EGraph::children() reads.
template <typename Label>
struct Node : Label {
  bool duplicate = false;         // has become equal to an older node, and counts no more
  std::uint32_t child_count = 0;  // absent ones included
  /// The children, if there are no more of them than fit; else the first's place among those that
  /// the e-graph keeps, as the number of near[0].
  static constexpr std::uint32_t most_near = engine::most_near;
  ClassId near[most_near];  // see `most_near`
};

/// The e-graph of a language L (engine/language.h). Nodes are added, never removed.
template <typename L>
class EGraph {
 public:
  using Language = L;                 // for templates over e-graphs
  using Label = typename L::Label;    // all of a node but its children
  using Data = typename L::Data;      // what is known of a class
  using ENode = engine::Node<Label>;  // a label with its children

  explicit EGraph(L language = {}) : language_(std::move(language)) {}  // without nodes

  L& language() { return language_; }              // the object of it that the e-graph owns
  const L& language() const { return language_; }  // the same for reading

  // Terms.

  /// The class of the node with this form and these children, which is added if it is not there. A
  /// new node founds a class, unless it is to be part of `home`.
  ClassId add(FormId form, std::span<const ClassId> children, ClassId home = ClassId::none());

  // Whether a node is there, in two stages between which others can be asked for, so that memory is
  // waited for once. Children must be canonical.

  /// The first stage: what known() will read begins to be loaded. Returns the key for it.
  NodeTable::Key prefetch(FormId form, std::span<const ClassId> children) const {
    const NodeTable::Key key = key_of(form, children);
    table_.prefetch(key);
    return key;
  }
  /// The class as add() would return it; none if it is not there.
  ClassId known(const NodeTable::Key& key, std::span<const ClassId> children) const {
    return {lookup(key, children)};
  }

  // Equalities.

  /// False if they were equal already.
  bool unite(ClassId a, ClassId b);
  /// Restores congruence: equal children make equal nodes; and the analysis. Cheap if nothing changed.
  void rebuild();
  /// Shortens paths. After rebuild() they are short: reading from several threads is safe then.
  ClassId find(ClassId id) const {
    std::uint32_t i = id.v, above = parent_of_[i];
    while (parent_of_[above] != above) {
      parent_of_[i] = parent_of_[above];
      i = above;
      above = parent_of_[i];
    }
    return {above};
  }

  // Reading. Duplicate nodes are left out by nodes() and parents() after rebuild().

  std::size_t node_count() const { return table_.size(); }  // without duplicates
  std::size_t id_count() const { return nodes_.size(); }    // with them
  std::size_t class_count() const { return class_count_; }  // canonical ones
  /// Of nodes, classes and tables of these; an estimate.
  std::size_t memory_bytes() const;

  const ENode& node(ENodeId id) const { return nodes_[id.v]; }  // valid until the next add()
  void prefetch(ENodeId id) const { __builtin_prefetch(&nodes_[id.v]); }  // what node() will read
  /// Kept apart from the nodes, because matching asks them of many nodes and no more of most.
  FormId form(ENodeId id) const { return form_of_[id.v]; }
  /// clock() when the children or the class of the node, or what is known of these, last changed.
  std::uint32_t stamp(ENodeId id) const { return stamp_of_[id.v]; }
  /// None for absent ones; canonical after rebuild(). Valid until the next add() or rebuild().
  std::span<const ClassId> children(ENodeId id) const {
    const ENode& node = nodes_[id.v];
    return {node.child_count <= most_near ? node.near : &children_[node.near[0].v],
            node.child_count};
  }
  /// The children with which the node was added: classes as they were then, never renamed. The term of
  /// class id c is that of node c over the terms of these, which have smaller numbers.
  std::span<const ClassId> founding_children(ENodeId id) const {
    return std::span(founding_children_)
        .subspan(first_founding_child_[id.v], nodes_[id.v].child_count);
  }
  /// The nodes of a canonical class.
  const std::vector<ENodeId>& nodes(ClassId id) const { return at(id).nodes; }
  /// The nodes that have a canonical class among their children.
  const std::vector<ENodeId>& parents(ClassId id) const { return at(id).parents; }
  /// False only if no node among nodes(id), or parents(id), has this symbol.
  bool may_have_node(ClassId id, std::uint32_t symbol) const {
    return (at(id).node_symbols & symbol_bit(symbol)) != 0;
  }
  /// As may_have_node(), of parents.
  bool may_have_parent(ClassId id, std::uint32_t symbol) const {
    return (at(id).parent_symbols & symbol_bit(symbol)) != 0;
  }
  /// Ascending.
  const std::vector<ENodeId>& nodes_with(std::uint32_t symbol) const {
    static const std::vector<ENodeId> none;
    return symbol < symbol_nodes_.size() ? symbol_nodes_[symbol] : none;
  }
  /// What is known of a canonical class.
  const Data& data(ClassId canonical) const { return at(canonical).data; }
  Data& data(ClassId canonical) { return at(canonical).data; }  // for analyses of their own

  /// Grows with every call of advance_clock(); changed nodes carry the time of their change.
  std::uint32_t clock() const { return clock_; }
  void advance_clock() { ++clock_; }  // what changes from now on is newer
  /// Makes these nodes new for matching.
  void touch(const std::vector<ENodeId>& nodes) {
    for (const ENodeId id : nodes) stamp_of_[id.v] = clock_;
  }

  /// Everything that the comments of this class promise; for tests and debugging. To be called
  /// after rebuild().
  Result<void> check_invariants() const;

 private:
  struct EClass {
    std::vector<ENodeId> nodes;
    std::vector<ENodeId> parents;
    std::uint64_t node_symbols = 0, parent_symbols = 0;  // of these lists; see symbol_bit()
    Data data;
  };

  static constexpr std::uint32_t absent_place = 0xffffffffU;
  graph_of<L>& self() { return static_cast<graph_of<L>&>(*this); }
  const graph_of<L>& self() const { return static_cast<const graph_of<L>&>(*this); }
  EClass& at(ClassId canonical) { return classes_[place_of_[canonical.v]]; }
  const EClass& at(ClassId canonical) const { return classes_[place_of_[canonical.v]]; }
  /// Symbols share bits; nodes without one have a bit of their own.
  static std::uint64_t symbol_bit(std::uint32_t symbol) {
    return std::uint64_t{1} << (symbol == no_symbol ? 63U : symbol % 63U);
  }
  static NodeTable::Key key_of(FormId form, std::span<const ClassId> children) {
    if (children.size() > most_near) return key_of_many(form, children);
    return {form.v, children.empty() ? NodeTable::absent : children[0].v,
            children.size() < 2 ? NodeTable::absent : children[1].v};
  }
  static NodeTable::Key key_of_many(FormId form, std::span<const ClassId> children);
  std::uint32_t lookup(const NodeTable::Key& key, std::span<const ClassId> children) const {
    return table_.find(key, [&](std::uint32_t i) {
      return children.size() <= most_near || has_children({i}, children);
    });
  }
  bool has_children(ENodeId id, std::span<const ClassId> children) const {
    const auto own = this->children(id);
    return std::equal(children.begin(), children.end(), own.begin(), own.end());
  }
  std::span<ClassId> own_children(ENodeId id) {
    ENode& node = nodes_[id.v];
    return {node.child_count <= most_near ? node.near : &children_[node.near[0].v],
            node.child_count};
  }
  ENodeId append(FormId form, std::span<const ClassId> canonical,
                 std::span<const ClassId> founding);
  void found_class(ENodeId id);
  void join_class(ENodeId id, ClassId home);
  void repair(ENodeId id);
  void mark_duplicate(ENodeId id);
  void restore_congruence();
  void drop_duplicates();
  void join_data(ClassId canonical, const Data& other) requires Analysis<L>;
  void unite_data(ClassId canonical, const Data& gone) requires Analysis<L>;
  void restore_data();
  void propagate_data() requires Analysis<L>;
  Result<void> check_node(ENodeId id) const;

  L language_;
  std::vector<ENode> nodes_;
  std::vector<FormId> form_of_;          // by node
  std::vector<std::uint32_t> stamp_of_;  // by node
  std::vector<ClassId> children_;        // of nodes with many; by Node::near[0]
  std::vector<ClassId> founding_children_;
  std::vector<std::uint32_t> first_founding_child_;  // by node
  std::vector<EClass> classes_;                      // by place; canonical ones only
  std::vector<std::uint32_t> place_of_;  // by class number; absent_place if not canonical
  std::vector<std::uint32_t> free_places_;
  mutable std::vector<std::uint32_t> parent_of_;  // union-find
  NodeTable table_;
  std::size_t class_count_ = 0;
  std::size_t list_entries_ = 0;
  std::uint32_t clock_ = 1;
  std::vector<std::vector<ENodeId>> symbol_nodes_;  // by symbol
  std::vector<ClassId> changed_;                    // merged since the last rebuild
  std::vector<ENodeId> duplicates_;                 // found by the rebuild that is going on
  std::vector<ClassId> data_changed_;               // of which more is known now
  std::vector<ClassId> to_modify_;
};

}  // namespace lemma::engine

// IWYU pragma: begin_exports
#include "engine/building.h"
#include "engine/rebuilding.h"
// IWYU pragma: end_exports
