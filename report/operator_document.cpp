#include "report/operator_document.h"

#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "facts/operator_section.h"
#include "procedures/procedure.h"

namespace lemma {

namespace {

std::string count_text(Arity arity) {
  if (arity.maximum < 0) return fmt::format("{} or more", arity.minimum);
  if (arity.minimum == arity.maximum) return std::to_string(arity.minimum);
  return fmt::format("{} to {}", arity.minimum, arity.maximum);
}

std::string flags_text(const OperatorRecord& op) {
  constexpr std::array<std::pair<OperatorFlag, std::string_view>, 6> names = {
      {{elementwise, "elementwise"},
       {commutative, "commutative"},
       {data_movement, "data movement"},
       {view, "view"},
       {linear, "linear"},
       {not_folded, "not folded"}}};
  std::vector<std::string_view> flags;
  for (const auto& [flag, name] : names)
    if (op.has(flag)) flags.push_back(name);
  return fmt::format("{}", fmt::join(flags, ", "));
}

std::string overview() {
  std::string result =
      "| Operator | Meaning | Inputs | Outputs | Properties |\n"
      "|---|---|---|---|---|\n";
  for (const OperatorRecord& op : all_operators()) {
    std::string anchor(op.name);
    for (char& c : anchor)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    result +=
        fmt::format("| [{}](#{}) | {} | {} | {} | {} |\n", op.name, anchor, table_cell(op.summary),
                    count_text(op.inputs), count_text(op.outputs), flags_text(op));
  }
  return result;
}

/// What only files of a runtime have. It stands before the sections of the operators: certificates hold the digests of
/// these, and what an operator means does not depend on it.
std::string runtime_forms() {
  std::string result =
      "\nFiles of a runtime may have forms that are not standard:\n\n"
      "| Runtime | Form | Operator |\n|---|---|---|\n";
  for (const OperatorRecord& op : all_operators())
    for (const OnnxMapping& mapping : op.onnx)
      if (!mapping.runtime.empty())
        result +=
            fmt::format("| {} | {} | {} |\n", mapping.runtime, onnx_form_text(mapping), op.name);
  return result;
}

/// Operators that are no operations of graphs.
std::string procedures_text() {
  std::string result =
      "\n## Operators that are run only\n\n"
      "The sizes of these operators' results, or how many terms an element has, depend on values,\n"
      "or their operands or results are sequences, optional values or strings. They are opaque\n"
      "nodes of graphs. `lemma run` and the check of whole models compute them by procedures\n"
      "(`procedures/procedure.h`). If, Loop, Scan, SequenceMap and FlexAttention run their bodies\n"
      "(`runner/`). What is drawn at random is drawn by `lemma run` alone. No check compares\n"
      "it, it is not computed ahead of time, and two nodes are never taken for one.\n\n"
      "| Operator | Meaning | ONNX |\n|---|---|---|\n";
  for (const ProcedureRecord& record : all_procedures())
    result += fmt::format(
        "| {} | {} | {}{} |\n", record.name, record.summary,
        record.domain.empty() ? "since operator set " : fmt::format("{}, since ", record.domain),
        record.since);
  return result;
}

}  // namespace

std::string operators_document(const std::function<std::string(OperatorId)>& meaning_digest) {
  const auto table = all_operators();
  std::string result = fmt::format(
      "# Operators\n\n"
      "Generated from the records in `operators/` by `scripts/docs`; edit those, not this "
      "file.\n\n"
      "Each operator has a *definition*, an index expression for the elements of its outputs\n"
      "(`ir/definition.h` says what the expressions mean), or a *composition* of other operators.\n"
      "It is shown for an example of input types; `a`, `b`, ... are the inputs. Attributes are "
      "those\n"
      "of the textual form of graphs. An example does not show everything that an operator does: "
      "the\n"
      "digest of its meaning covers the definitions of a whole family of applications\n"
      "(`facts/operator_instances.h`). There are {} operators.\n\n",
      table.size());
  result += overview() + runtime_forms() + procedures_text();
  for (std::uint16_t i = 0; i < table.size(); ++i)
    result += "\n" + operator_section({i}, meaning_digest({i}));
  return result;
}

}  // namespace lemma
