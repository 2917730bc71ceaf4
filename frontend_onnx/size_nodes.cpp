#include "frontend_onnx/size_nodes.h"

#include <fmt/format.h>

namespace lemma::frontend {

Result<std::string> SizeNodes::sizes(const Shape& sizes, bool scalar,
                                     std::span<const SizedValue> nearby) {
  if (const auto constants = constant_sizes(sizes)) return sink_.integers(*constants, scalar);
  const std::string key = text(sizes) + (scalar ? " scalar" : "");
  if (const auto entry = vectors_.find(key); entry != vectors_.end()) return entry->second;
  std::vector<std::string> parts;
  std::vector<std::int64_t> run;  // adjacent constants
  auto end_run = [&] {
    if (!run.empty()) parts.push_back(sink_.integers(run, false));
    run.clear();
  };
  for (const Dimension& element : sizes) {
    if (element.is_constant()) {
      run.push_back(element.offset());
      continue;
    }
    end_run();
    read_off(element, nearby);
    LEMMA_ASSIGN_OR_RETURN(std::string part, size(element));
    parts.push_back(std::move(part));
  }
  end_run();
  std::string result =
      parts.size() == 1 ? parts.front() : sink_.node("Concat", parts, {{"axis", 0}});
  if (scalar) result = sink_.node("Gather", {result, sink_.integers({0}, true)}, {{"axis", 0}});
  vectors_.emplace(key, result);
  return result;
}

/// Makes the size known if a nearby value has it. Symbols have their sources, shared by all users.
void SizeNodes::read_off(const Dimension& size, std::span<const SizedValue> nearby) {
  const auto symbol = size.as_symbol();
  if ((symbol && sources_.contains(*symbol)) || known_.contains(size.text())) return;
  for (const SizedValue& value : nearby)
    for (std::size_t axis = 0; axis < value.shape->size(); ++axis)
      if ((*value.shape)[axis] == size) {
        known_.emplace(size.text(), element_of_shape(value.name, axis));
        return;
      }
}

std::string SizeNodes::element_of_shape(const std::string& value, std::size_t axis) {
  std::string& shape = shapes_[value];
  if (shape.empty()) shape = sink_.node("Shape", {value}, {});
  const std::string position = sink_.integers({static_cast<std::int64_t>(axis)}, false);
  return sink_.node("Gather", {shape, position}, {{"axis", 0}});
}

Result<std::string> SizeNodes::size(const Dimension& size) {
  if (size.is_constant()) return sink_.integers({size.offset()}, false);
  if (!size.is_valid()) return internal_error("a size is invalid");
  const std::string key = size.text();
  if (const auto entry = known_.find(key); entry != known_.end()) return entry->second;
  std::string total;
  for (const Dimension::Term& term : size.terms()) {
    LEMMA_ASSIGN_OR_RETURN(std::string value, product(term));
    total = total.empty() ? value : combine("Add", total, value);
  }
  if (size.offset() != 0) total = combine("Add", total, sink_.integers({size.offset()}, false));
  known_.emplace(key, total);
  return total;
}

Result<std::string> SizeNodes::product(const Dimension::Term& term) {
  std::string total;
  for (const Dimension::AtomPointer& factor : term.atoms) {
    LEMMA_ASSIGN_OR_RETURN(std::string value, atom(*factor));
    total = total.empty() ? value : combine("Mul", total, value);
  }
  if (term.coefficient == 1) return total;
  return combine("Mul", total, sink_.integers({term.coefficient}, false));
}

Result<std::string> SizeNodes::atom(const Dimension::Atom& atom) {
  if (atom.kind == AtomKind::symbol) return symbol(atom.symbol);
  LEMMA_ASSIGN_OR_RETURN(const std::string left, size(atom.left));
  LEMMA_ASSIGN_OR_RETURN(const std::string right, size(atom.right));
  if (atom.kind != AtomKind::floor_div)
    return extremum(atom.kind == AtomKind::minimum, left, right);
  const auto least_left = lower_bound(atom.left);
  const auto least_right = lower_bound(atom.right);
  if (least_left && least_right && *least_left >= 0 && *least_right >= 0)
    return combine("Div", left, right);
  // Div truncates; Mod has the sign of the divisor.
  constexpr int mod_since = 10;
  if (operator_set_ < mod_since)
    return unsupported(
        fmt::format("operator set {} cannot compute a rounded-down quotient", operator_set_));
  return combine("Div", combine("Sub", left, combine("Mod", left, right)), right);
}

/// (a + b ± |a - b|) / 2: Min and Max take integers from operator set 12 on only.
std::string SizeNodes::extremum(bool is_minimum, const std::string& left,
                                const std::string& right) {
  constexpr int integer_extrema_since = 12;
  if (operator_set_ >= integer_extrema_since)
    return combine(is_minimum ? "Min" : "Max", left, right);
  const std::string distance = sink_.node("Abs", {combine("Sub", left, right)}, {});
  const std::string twice =
      combine(is_minimum ? "Sub" : "Add", combine("Add", left, right), distance);
  return combine("Div", twice, sink_.integers({2}, false));
}

Result<std::string> SizeNodes::symbol(const std::string& name) {
  const std::string key = Dimension::symbol(name).text();
  if (const auto entry = known_.find(key); entry != known_.end()) return entry->second;
  const auto source = sources_.find(name);
  if (source == sources_.end())
    return unsupported(fmt::format("no input has the size '{}', so it cannot be computed", name));
  std::string value = element_of_shape(source->second.value, source->second.axis);
  known_.emplace(key, value);
  return value;
}

}  // namespace lemma::frontend
