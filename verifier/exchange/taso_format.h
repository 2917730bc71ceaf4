#pragma once
// The file format of TASO's rules (protocol buffers, message RuleCollection), as data.
//
//   RuleCollection: 1 rule*
//   Rule:           1 source operator*, 2 target operator*, 3 mapped output*
//   Operator:       1 type, 2 input*, 3 parameter*
//   input:          1 operator (negative: an input of the rule), 2 output of the operator
//   parameter:      1 key, 2 value
//   mapped output:  1 source operator, 2 target operator, 3 source output, 4 target output
//
// All numbers are varints. Numbers of operator types and parameters are facts about the format,
// taken from the public repository jiazhihao/TASO (include/taso/ops.h, the header of its core).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace lemma::exchange {

enum class TasoType : std::int64_t {
  conv2d = 3,
  max_pool = 6,
  average_pool = 7,
  relu = 8,
  sigmoid = 9,
  tanh = 10,
  concat = 12,
  split = 13,
  transpose = 15,
  add = 16,
  multiply = 17,
  matmul = 18,
  scale = 19,
  enlarge = 20,
};

enum class TasoKey : std::int64_t {
  input_count = 1,
  output_count = 2,
  kernel_height = 4,
  kernel_width = 5,
  stride_height = 6,
  stride_width = 7,
  padding = 8,     // 0 SAME, 1 VALID
  activation = 9,  // 0 none, 1 sigmoid, 2 rectifier, 3 tanh
  rank = 10,
  axis = 11,
  permutation = 12,  // the axes as digits of a number to the base of the rank
  shuffle = 13,
};

struct TasoTensor {
  std::int64_t op = 0;      // negative: an input of the rule
  std::int64_t output = 0;  // which output of the operator
  friend auto operator<=>(const TasoTensor&, const TasoTensor&) = default;
};

struct TasoParameter {
  std::int64_t key = 0, value = 0;
  friend bool operator==(const TasoParameter&, const TasoParameter&) = default;
};

struct TasoOperator {
  std::int64_t type = 0;
  std::vector<TasoTensor> inputs;
  std::vector<TasoParameter> parameters;
  friend bool operator==(const TasoOperator&, const TasoOperator&) = default;
};

struct TasoOutput {
  TasoTensor source, target;
  friend bool operator==(const TasoOutput&, const TasoOutput&) = default;
};

struct TasoRule {
  std::vector<TasoOperator> source, target;
  std::vector<TasoOutput> outputs;
  friend bool operator==(const TasoRule&, const TasoRule&) = default;
};

/// Operators must come after those they use, and everything must exist; an error says where not.
Result<std::vector<TasoRule>> read_taso(std::string_view bytes);
std::string write_taso(const std::vector<TasoRule>& rules);

}  // namespace lemma::exchange
