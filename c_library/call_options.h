#pragma once
// The options of a call from C: a JSON object with known keys.

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "base/result.h"

namespace lemma::c_library {

class CallOptions {
 public:
  /// An error names a key that is not among `keys`, or what is wrong with the text. Null: no options.
  static Result<CallOptions> parse(const char* text, const std::vector<std::string>& keys);

  /// Sets `value` if the key is given. An error: it has another type.
  template <typename Value>
  Result<void> take(const char* key, Value& value) const {
    if (!json_.contains(key)) return {};
    try {
      value = json_[key].get<Value>();
    } catch (const nlohmann::json::exception&) {
      return bad_input(std::string("options: \"") + key + "\" has the wrong type");
    }
    return {};
  }

 private:
  nlohmann::json json_ = nlohmann::json::object();
};

}  // namespace lemma::c_library
