#pragma once
// What a language has to give, so that there is an e-graph of its terms (docs/engine.md).
//
// A language is a class L. An object of it is part of the e-graph. Its functions are given the
// e-graph, as G = graph_of<L>: EGraph<L>, or the class that L names `Graph` and that is derived from
// EGraph<L>.

#include <concepts>
#include <cstdint>
#include <utility>

#include "engine/ids.h"

namespace lemma::engine {

template <typename L>
class EGraph;

namespace detail {
template <typename L>
struct GraphOf {
  using type = EGraph<L>;
};
template <typename L>
requires requires { typename L::Graph; }
struct GraphOf<L> {
  using type = typename L::Graph;
};
}  // namespace detail

template <typename L>
using graph_of = typename detail::GraphOf<L>::type;

/// What a node says of itself, beside its children; a node is derived from it.
///
/// `symbol_of` names the list of nodes in which matching looks for such a node. Labels with
/// `no_symbol` are in none.
inline constexpr std::uint32_t no_symbol = 0xffffffffU;

template <typename L>
concept LabelledLanguage = requires(L& language, const graph_of<L>& graph, FormId form,
                                    const typename L::Label& label) {
  { language.label_of(graph, form) } -> std::convertible_to<const typename L::Label&>;
  { L::symbol_of(label) } -> std::same_as<std::uint32_t>;
};

/// An analysis as in egg: what is known of a class, from what its nodes show. The e-graph keeps it as
/// a least fixpoint.
///
/// `make`: what a node shows, from what is known of its children. `join`: adds what another node, or
/// class, shows; true if that changes what is known. It must be associative, commutative and
/// idempotent, and have no endless chains.
template <typename L>
concept Analysis = requires(L& language, graph_of<L>& graph, ENodeId node, typename L::Data& known,
                            const typename L::Data& other) {
  { language.make(graph, node) } -> std::same_as<typename L::Data>;
  { language.join(known, other) } -> std::same_as<bool>;
};

/// An analysis that restores itself, with worklists of its own.
///
/// `found`: what a class of one new node knows. `adopt`: a node was added to a class. `united`: a
/// class took in another, which knew `gone`. `restore`: called in rebuild() once the nodes are
/// congruent; it must not add nodes or unite classes.
template <typename L>
concept OwnAnalysis = requires(L& language, graph_of<L>& graph, ENodeId node, ClassId id,
                               const typename L::Data& gone) {
  { language.found(graph, node) } -> std::same_as<typename L::Data>;
  language.adopt(graph, id, node);
  language.united(graph, id, id, gone);
  language.restore(graph);
};

/// May add nodes to the e-graph and unite classes where the analysis shows something: called in
/// rebuild() for new classes, and for those of which more is known now.
template <typename L>
concept Modifies = requires(L& language, graph_of<L>& graph, ClassId id) {
  language.modify(graph, id);
};

template <typename L>
concept Language = LabelledLanguage<L> &&(Analysis<L> || OwnAnalysis<L>);

/// For languages that know nothing of classes; to be derived from.
struct NoAnalysis {
  struct Data {};
  template <typename G>
  Data make(const G&, ENodeId) const {
    return {};
  }
  static bool join(Data&, const Data&) { return false; }
};

}  // namespace lemma::engine
