#pragma once
// Certificates in files: NAME.certificates holds those of the rules in NAME.rules, in their order,
// one after the other. This file only separates them, so that damage to one does not affect the
// others. Checkers interpret their contents (docs/certificates.md).

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lemma {

inline constexpr std::string_view pack_extension = ".certificates";

/// One certificate of a pack.
struct CertificateSection {
  std::string rule;      // the name that it gives; empty if it gives none
  std::size_t line = 1;  // of the pack, where it begins
  std::string text;
};

/// A certificate begins where one says so, or where the one before has ended: each byte belongs to just one.
std::vector<CertificateSection> certificates_of(std::string_view pack);

}  // namespace lemma
