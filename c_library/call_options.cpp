#include "c_library/call_options.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lemma::c_library {

Result<CallOptions> CallOptions::parse(const char* text, const std::vector<std::string>& keys) {
  CallOptions result;
  if (text == nullptr) return result;
  result.json_ = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!result.json_.is_object()) return bad_input("options: not a JSON object");
  for (const auto& [key, value] : result.json_.items())
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
      return bad_input(
          fmt::format("options: there is no \"{}\"; there are {}", key, fmt::join(keys, ", ")));
  return result;
}

}  // namespace lemma::c_library
