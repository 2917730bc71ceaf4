#pragma once
// What an explanation (docs/certificates.md, "Explanations") never speaks of, as its file and its
// checker write it.

#include <algorithm>
#include <array>
#include <string_view>

namespace lemma {

inline constexpr std::string_view outside_reading =
    "reading: that \"before\" is what the model file says";
inline constexpr std::string_view outside_opaque =
    "opaque: that each opaque operator is the same on both sides; its outputs stand as inputs, its "
    "inputs as outputs";
inline constexpr std::string_view outside_folding =
    "folding: what depends on constants alone is computed and kept as its value";
inline constexpr std::string_view outside_writing =
    "writing: that the written file says what \"after\" does";

/// Whether it is one of these.
inline bool is_outside_every_explanation(std::string_view what) {
  constexpr std::array<std::string_view, 4> known = {outside_reading, outside_opaque,
                                                     outside_folding, outside_writing};
  return std::find(known.begin(), known.end(), what) != known.end();
}

}  // namespace lemma
