#pragma once
// Languages whose labels are words, and what text needs of a language.

#include <concepts>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>

#include "engine/language.h"

namespace lemma::engine {

/// Labels have a text. `form_of` gives the form with this text, which may be new; `text_of` is its
/// inverse.
template <typename L>
concept TextLanguage = Language<L> &&
    requires(L& language, const L& constant, std::string_view word, FormId form) {
  { language.form_of(word) } -> std::same_as<FormId>;
  { constant.text_of(form) } -> std::convertible_to<std::string_view>;
};

/// To be derived from: a node says a word, and nothing else. The language still has to give an
/// analysis; NoAnalysis is one.
class Words {
 public:
  struct Label {
    std::uint32_t word = 0;
  };

  FormId form_of(std::string_view word) {
    const auto [entry, added] =
        numbers_.try_emplace(std::string(word), static_cast<std::uint32_t>(labels_.size()));
    if (added) {
      labels_.push_back({entry->second});
      texts_.push_back(entry->first);
    }
    return {entry->second};
  }
  std::string_view text_of(FormId form) const { return texts_[form.v]; }

  template <typename Graph>
  const Label& label_of(const Graph&, FormId form) const {
    return labels_[form.v];
  }
  static std::uint32_t symbol_of(const Label& label) { return label.word; }

 private:
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::deque<Label> labels_;  // by word; stay where they are
  std::deque<std::string> texts_;
};

}  // namespace lemma::engine
