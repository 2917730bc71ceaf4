#include "rule_language/certificate_pack.h"

#include <algorithm>

namespace lemma {

std::vector<CertificateSection> certificates_of(std::string_view pack) {
  constexpr std::string_view name_keyword = "rule ";
  std::vector<CertificateSection> result;
  bool ended = true;
  for (std::size_t number = 1; !pack.empty(); ++number) {
    const std::size_t end = std::min(pack.find('\n'), pack.size());
    const std::string_view line = pack.substr(0, end);
    if (ended || line.starts_with("lemma certificate ")) result.push_back({"", number, ""});
    CertificateSection& section = result.back();
    section.text += pack.substr(0, end + 1);
    if (section.rule.empty() && line.starts_with(name_keyword))
      section.rule = line.substr(name_keyword.size());
    ended = line == "end";
    pack.remove_prefix(std::min(end + 1, pack.size()));
  }
  return result;
}

}  // namespace lemma
