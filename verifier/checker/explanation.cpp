#include "verifier/checker/explanation.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <set>

#include <fmt/format.h>

#include "base/quoted.h"
#include "facts/copied_elements.h"
#include "facts/opaque_facts.h"
#include "facts/run_time_conditions.h"
#include "ir/graph_text.h"
#include "rule_language/digests.h"
#include "rule_language/explanation_scope.h"
#include "rule_language/quotients.h"
#include "rule_language/rule_database.h"
#include "rule_language/substitution_use.h"
#include "verifier/checker/explanation_terms.h"

namespace lemma::checker {
namespace {

/// A use of a rule, to be judged in its turn.
struct Step {
  std::string name;  // "line 7 after the graph: RULE", for messages
  const Substitution* rule = nullptr;
  bool refinement = false;      // 'refine': the right side takes the place of the left one
  bool adds_quotients = false;  // in its direction
  std::vector<ValueId> inputs;
  Sides sides;
};

/// An output before, at stages on the way, and after.
struct Chain {
  std::string name;
  std::vector<ValueId> values;
};

class Replayer {
 public:
  Replayer(const RuleTable& rules, const RuleNames& bitwise, const ExplanationPremises& premises)
      : rules_(rules), bitwise_(bitwise), premises_(premises) {}

  Result<ExplanationSize> run(std::string_view text) {
    if (!text.starts_with("lemma explanation 2\ngraph ") || !text.ends_with("\nend\n"))
      return bad_input("it is not an explanation of format 2, or not whole");
    text.remove_prefix(text.find('\n') + 1);
    text.remove_suffix(std::string_view("end\n").size());
    std::size_t end = text.find('\n') + 1;
    while (text.substr(end).starts_with("  ")) end = text.find('\n', end) + 1;
    LEMMA_ASSIGN_OR_RETURN(graph_, parse_graph(text.substr(0, end)));
    stated_values_ = graph_.value_count();
    collect_symbols();
    for (text.remove_prefix(end); !text.empty();) {
      const std::size_t length = text.find('\n');
      ++line_;
      if (auto taken = take(text.substr(0, length)); !taken)
        return with_context(fmt::format("line {} after the graph", line_),
                            std::move(taken.error()));
      text.remove_prefix(length + 1);
    }
    if (used_ != listed_) return bad_input("a rule is listed that no step uses");
    size_.rules = listed_.size();
    LEMMA_RETURN_IF_ERROR(read_outputs());
    LEMMA_RETURN_IF_ERROR(judge());
    return size_;
  }

 private:
  Result<void> take(std::string_view line) {
    if (line.starts_with("rule ")) return take_rule(line);
    if (line.starts_with("step ") || line.starts_with("refine ")) return take_step(line);
    if (line.starts_with("given ")) return take_given(line);
    if (line.starts_with("constant ")) return take_constant(line);
    if (line.starts_with("copies ")) return take_copies(line);
    if (!line.starts_with("outside "))
      return bad_input("it is no rule, step, refine, copies, given, constant or 'outside'");
    const std::string_view what = line.substr(8);
    (is_outside_every_explanation(what) ? size_.outside : size_.unchecked).emplace_back(what);
    return {};
  }

  Result<void> take_rule(std::string_view line) {
    const auto parts = words(line);
    if (parts.size() != 3) return bad_input("expected 'rule NAME DIGEST'");
    const auto rule = rules_.find(parts[1]);
    if (rule == rules_.end())
      return bad_input(fmt::format("no certificate that holds proves the rule '{}'", parts[1]));
    if (digests_.of_substitution(*rule->second) != parts[2])
      return bad_input(fmt::format("the rule '{}' is another one now", parts[1]));
    if (!listed_.insert(std::string(parts[1])).second) return bad_input("it is there twice");
    return {};
  }

  Result<void> take_step(std::string_view line) {
    const std::size_t colon = line.find(": ");
    const auto head = words(line.substr(0, colon));
    if (colon == std::string_view::npos || head.size() != 3)
      return bad_input("expected 'step RULE DIRECTION: VALUES'");
    if (listed_.find(std::string(head[1])) == listed_.end())
      return bad_input(fmt::format("the rule '{}' is not listed", head[1]));
    used_.emplace(head[1]);
    const Substitution& rule = *rules_.find(head[1])->second;
    const bool refinement = head[0] == "refine";
    const bool backward = head[2] == "backward" && rule.bidirectional && !refinement;
    if (head[2] != "forward" && !backward)
      return bad_input(fmt::format("the rule cannot be used '{}'", head[2]));
    LEMMA_ASSIGN_OR_RETURN(const SubstitutionUse use, parse_use(rule, line.substr(colon + 2)));
    auto sides = sides_of(graph_, use);
    if (!sides) return with_context(rule.name, std::move(sides.error()));
    steps_.push_back({fmt::format("line {} after the graph: {}", line_, rule.name), &rule,
                      refinement, adds_more_quotients(backward ? reversed(rule) : rule), use.inputs,
                      std::move(*sides)});
    ++size_.steps;
    return {};
  }

  /// copies %3 %4. Both values consist of the same elements of other values, which only moved.
  Result<void> take_copies(std::string_view line) {
    const auto parts = words(line);
    if (parts.size() != 3) return bad_input("expected 'copies VALUE VALUE'");
    LEMMA_ASSIGN_OR_RETURN(const ValueId a, parse_value(parts[1]));
    LEMMA_ASSIGN_OR_RETURN(const ValueId b, parse_value(parts[2]));
    constexpr std::size_t most_steps = 1'000'000'000;
    if (!elements_) elements_.emplace(graph_, most_steps);
    const auto first = elements_->of(a), second = elements_->of(b);
    if (!first || graph_.type(a) != graph_.type(b) || first != second)
      return bad_input("nothing shows that both are copies of the same elements");
    copies_.emplace_back(a, b);
    ++size_.steps;
    return {};
  }

  /// The input that a line `KEYWORD %3: ...` speaks of, and what stands behind the colon.
  Result<std::pair<ValueId, std::string_view>> parse_about_input(std::string_view line) const {
    const std::size_t colon = line.find(": "), blank = line.find(' ');
    if (colon == std::string_view::npos || colon < blank)
      return bad_input(fmt::format("expected '{} VALUE: ...'", line.substr(0, blank)));
    LEMMA_ASSIGN_OR_RETURN(const ValueId value,
                           parse_value(line.substr(blank + 1, colon - blank - 1)));
    if (graph_.node(graph_.producer(value)).kind != NodeKind::input || given_.contains(value))
      return bad_input("it is no input, or given twice");
    return std::pair(value, line.substr(colon + 2));
  }

  /// "0123456789abcdef" of an input "constant 3 digest 0123456789abcdef"; empty for other inputs.
  std::string_view digest_of_constant(ValueId value) const {
    const std::string_view name = graph_.input_name(graph_.node(graph_.producer(value)));
    const auto parts = words(name);
    const bool stands_for_one = parts.size() == 4 && parts[0] == "constant" && parts[2] == "digest";
    return stands_for_one ? parts[3] : "";
  }

  /// given %3: FACTS. Of a constant without its bytes, or of an input of which the user promises that.
  Result<void> take_given(std::string_view line) {
    LEMMA_ASSIGN_OR_RETURN(const auto about, parse_about_input(line));
    const auto& [value, said] = about;
    LEMMA_ASSIGN_OR_RETURN(const ValueFacts facts, parse_facts(said));
    const std::string& name = graph_.input_name(graph_.node(graph_.producer(value)));
    std::string sentence = fmt::format("that '{}' is {}", name, said);
    if (!digest_of_constant(value).empty()) {
      if (!premises_.knows_constants)
        size_.unchecked.push_back("given: " + sentence + "; its bytes are not there");
      given_.emplace(value, facts);
      return {};
    }
    constexpr std::string_view prefix = "input ";
    const auto promise = name.starts_with(prefix)
                             ? premises_.promised.find(std::string_view(name).substr(prefix.size()))
                             : premises_.promised.end();
    if (promise == premises_.promised.end())
      return bad_input(fmt::format("nobody promises {}", sentence));
    const DataType type = graph_.type(value).data_type;
    const ValueFacts known = both(promise->second, facts_of_input(type));
    if (!implies(known, facts))
      return bad_input(
          fmt::format("{} does not follow from the promise, {}", sentence, text(promise->second)));
    size_.promised.push_back(std::move(sentence));
    given_.emplace(value, facts);
    return {};
  }

  /// constant %3: 0000803f. The bytes of a constant that stands as an input, of which facts are read off.
  Result<void> take_constant(std::string_view line) {
    LEMMA_ASSIGN_OR_RETURN(const auto about, parse_about_input(line));
    const auto& [value, digits] = about;
    const std::string_view digest = digest_of_constant(value);
    if (digest.empty()) return bad_input("the input does not stand for a constant");
    LEMMA_ASSIGN_OR_RETURN(const auto bytes, bytes_of(digits));
    LEMMA_ASSIGN_OR_RETURN(const Constant constant,
                           Constant::create(graph_.type(value), bytes, *bytes));
    if (fmt::format("{:016x}", constant.digest()) != digest)
      return bad_input("the bytes are not those of the digest");
    given_.emplace(value, facts_of_constant(constant));
    ++size_.constants;
    return {};
  }

  using Bytes = std::vector<std::byte>;
  static Result<std::shared_ptr<const Bytes>> bytes_of(std::string_view digits) {
    auto bytes = std::make_shared<Bytes>();
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
      unsigned value = 0;
      const char* const end = digits.data() + i + 2;
      if (std::from_chars(digits.data() + i, end, value, 16).ptr != end) break;
      bytes->push_back(static_cast<std::byte>(value));
    }
    if (bytes->size() * 2 != digits.size()) return bad_input("these are no hexadecimal digits");
    return bytes;
  }

  Result<SubstitutionUse> parse_use(const Substitution& rule, std::string_view text) const {
    std::vector<std::string> names;
    for (const RuleInput& input : rule.inputs) names.push_back(input.name);
    for (std::string& variable : variable_names(rule)) names.push_back(std::move(variable));
    LEMMA_ASSIGN_OR_RETURN(const auto values, named_values(text, names));
    SubstitutionUse use{&rule, {}, {}};
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (i < rule.inputs.size()) {
        LEMMA_ASSIGN_OR_RETURN(const ValueId value, parse_value(values[i]));
        use.inputs.push_back(value);
        continue;
      }
      LEMMA_ASSIGN_OR_RETURN(const RuleExpression value, parse_rule_expression(values[i]));
      LEMMA_RETURN_IF_ERROR(bind_variable(rule, names[i], value, symbols_, use.bindings));
    }
    return use;
  }

  /// Numbers in the text are those of the values: the graph is printed whole and in order.
  Result<ValueId> parse_value(std::string_view text) const {
    std::uint32_t number = 0;
    const char* const end = text.data() + text.size();
    if (!text.starts_with("%") || std::from_chars(text.data() + 1, end, number).ptr != end ||
        number >= stated_values_)
      return bad_input(fmt::format("'{}' is no value of the graph", text));
    return ValueId{number};
  }

  void collect_symbols() {
    std::map<std::string, int> names;
    for (std::uint32_t i = 0; i < graph_.value_count(); ++i)
      if (const auto& shape = graph_.type(ValueId{i}).shape)
        for (const Dimension& size : *shape) lemma::collect_symbols(size, names);
    for (const auto& [name, count] : names) symbols_.dimensions[name] = Dimension::symbol(name);
  }

  /// Outputs come in chains: before X, stage X any number of times, after X.
  Result<void> read_outputs() {
    const std::vector<GraphOutput>& outputs = graph_.outputs();
    for (std::size_t i = 0; i < outputs.size();) {
      if (!outputs[i].name.starts_with("before "))
        return bad_input(fmt::format("'{}' stands where 'before' is expected", outputs[i].name));
      Chain chain{outputs[i].name.substr(7), {outputs[i].value}};
      for (++i; i < outputs.size(); ++i) {
        const std::string& name = outputs[i].name;
        const bool last = name == "after " + chain.name;
        const std::string stage = fmt::format("stage {} {}", chain.values.size(), chain.name);
        if (!last && name != stage)
          return bad_input(fmt::format("'before {}' is followed by '{}'", chain.name, name));
        chain.values.push_back(outputs[i].value);
        if (last) break;
      }
      if (i++ == outputs.size()) return bad_input(fmt::format("'after {}' is missing", chain.name));
      chains_.push_back(std::move(chain));
    }
    if (chains_.empty()) return bad_input("there are no outputs");
    size_.outputs = chains_.size();
    return {};
  }

  /// Nodes of the graph before.
  std::vector<char> original_nodes() const {
    std::vector<char> result(graph_.node_count(), 0);
    for (const Chain& chain : chains_) result[graph_.producer(chain.values.front()).v] = 1;
    for (std::size_t i = result.size(); i-- > 0;)
      if (result[i] != 0)
        for (const ValueId input : graph_.nodes()[i].inputs)
          if (!input.is_none()) result[graph_.producer(input).v] = 1;
    return result;
  }

  /// Steps one by one, each from what was shown before it; then the outputs.
  Result<void> judge() {
    std::vector<ValueId> before;
    for (const Chain& chain : chains_) before.push_back(chain.values.front());
    // Whatever a step speaks of may take no more for granted than the original graph does.
    const RunTimeConditions accepted = conditions_below(graph_, before);
    for (const Node& node : graph_.nodes())
      LEMMA_RETURN_IF_ERROR(check_follows(run_time_conditions(graph_, node), accepted));
    const std::vector<char> original = original_nodes();
    taint_opaque_outputs(original);
    TermClasses classes(graph_, given_, original);
    for (const auto& [a, b] : copies_) classes.equate(a, b);
    for (const Step& step : steps_) {
      auto judged = judge(step, classes);
      if (!judged) {  // what follows from the last steps may not have been drawn yet
        classes.close();
        judged = judge(step, classes);
      }
      if (!judged) return with_context(step.name, std::move(judged.error()));
      for (std::size_t k = 0; k < step.sides.left.size(); ++k)
        if (step.refinement)
          classes.refine(step.sides.left[k], step.sides.right[k]);
        else
          classes.equate(step.sides.left[k], step.sides.right[k]);
    }
    classes.close();
    LEMMA_RETURN_IF_ERROR(check_observed(classes));
    LEMMA_RETURN_IF_ERROR(check_reads(classes, original));
    return check_outputs(classes);
  }

  /// An opaque operator that is given an infinity may hand it on.
  void taint_opaque_outputs(const std::vector<char>& original) {
    constexpr std::string_view prefix = "into opaque ";
    if (std::none_of(chains_.begin(), chains_.end(), goes_into_opaque)) return;
    for (bool changed = true; changed;) {
      changed = false;
      const TermClasses classes(graph_, given_, original);
      for (const Chain& chain : chains_) {
        if (!goes_into_opaque(chain) || classes.facts(chain.values.front()).finite()) continue;
        const std::string op =
            chain.name.substr(prefix.size(), chain.name.rfind('#') + 1 - prefix.size());
        for (const NodeId id : graph_.inputs()) {
          const ValueId value = graph_.node(id).output();
          if (!is_real(graph_.type(value).data_type) ||
              !graph_.input_name(graph_.node(id)).starts_with("input opaque " + op))
            continue;
          changed =
              given_
                  .try_emplace(value, facts_of_opaque_output(op.substr(0, op.find(' ')),
                                                             graph_.type(value).data_type, false))
                  .second ||
              changed;
        }
      }
    }
  }

  Result<void> judge(const Step& step, const TermClasses& classes) const {
    const Substitution& rule = *step.rule;
    for (std::size_t i = 0; i < rule.inputs.size(); ++i) {
      const ValueFacts& facts = classes.facts(step.inputs[i]);
      if (rule.inputs[i].defined && !facts.defined)
        return bad_input(fmt::format("nothing shows that '{}' is defined", rule.inputs[i].name));
      if (!bitwise_.contains(rule.name) && !facts.finite())
        return bad_input(fmt::format("'{}' may carry an infinity", rule.inputs[i].name));
    }
    const auto is_defined = [&](ValueId left) { return classes.facts(left).defined; };
    const bool equates = !rule.bidirectional && !step.refinement;
    const std::vector<ValueId>& left = step.sides.left;
    if (std::all_of(left.begin(), left.end(), is_defined)) return {};
    if (equates) return bad_input("it is no equation: nothing shows that its left side is defined");
    if (!bitwise_.contains(rule.name) && step.adds_quotients)
      return bad_input("it adds up quotients, and nothing shows that its left side is defined");
    return {};
  }

  static bool goes_into_opaque(const Chain& chain) {
    return chain.name.starts_with("into opaque ");
  }

  bool is_observed(const Chain& chain) const {
    return premises_.observes_outputs || goes_into_opaque(chain);
  }

  Result<void> check_observed(const TermClasses& classes) const {
    std::vector<ValueId> roots;
    for (const Chain& chain : chains_)
      if (is_observed(chain)) roots.push_back(chain.values.front());
    const std::set<std::uint32_t> observed = classes.observed(roots);
    for (const Step& step : steps_) {
      if (bitwise_.contains(step.rule->name)) continue;
      for (const ValueId left : step.sides.left)
        if (observed.contains(classes.find(left)))
          return with_context(step.name, Error{ErrorKind::bad_input,
                                               "something looks for NaN or infinities in it"});
    }
    return {};
  }

  /// No run may fail that did not fail before. What reads the same as an operation of the original does not.
  Result<void> check_reads(const TermClasses& classes, const std::vector<char>& original) const {
    std::set<std::vector<std::uint32_t>> known;
    for (std::uint32_t i = 0; i < original.size(); ++i)
      if (original[i] != 0) known.insert(classes.form({i}));
    for (std::size_t i = 0; i < graph_.node_count(); ++i) {
      const Node& node = graph_.nodes()[i];
      if (node.kind != NodeKind::operation || (i < original.size() && original[i] != 0)) continue;
      const std::vector<TensorType> types = graph_.input_types(node);
      const OperatorFacts facts(graph_.op(node), {types, node.attributes, node.output_count});
      if (facts.may_read_outside() && !classes.facts(node.output()).defined &&
          !known.contains(classes.form({static_cast<std::uint32_t>(i)})))
        return bad_input(fmt::format("%{} ({}) may read outside its operand", node.output().v,
                                     graph_.op(node).name));
    }
    return {};
  }

  Result<void> check_outputs(TermClasses& classes) const {
    for (const Chain& chain : chains_)
      for (std::size_t i = 1; i < chain.values.size(); ++i) {
        const ValueId a = chain.values[i - 1], b = chain.values[i];
        // An opaque operator has to be given the same, and so has what observes outputs.
        const bool follows = is_observed(chain) && !classes.facts(a).defined
                                 ? classes.equal(a, b)
                                 : classes.refines(a, b);
        if (!follows)
          return bad_input(
              fmt::format("the steps do not lead from 'before {0}' to 'after {0}'", chain.name));
      }
    return {};
  }

  const RuleTable& rules_;
  const RuleNames& bitwise_;
  const ExplanationPremises& premises_;
  Graph graph_;
  RuleBindings symbols_;  // sizes that are not known stand for themselves
  Digests digests_;
  std::set<std::string> listed_, used_;
  std::vector<Step> steps_;
  std::vector<std::pair<ValueId, ValueId>> copies_;
  std::optional<CopiedElements> elements_;
  std::vector<Chain> chains_;
  std::map<ValueId, ValueFacts> given_;
  std::size_t stated_values_ = 0;
  int line_ = 0;
  ExplanationSize size_;
};

}  // namespace

Result<ExplanationSize> check_explanation(std::string_view text, const RuleTable& rules,
                                          const RuleNames& bitwise,
                                          const ExplanationPremises& premises) {
  return Replayer(rules, bitwise, premises).run(text);
}

namespace {

struct Section {
  std::string body;  // its place; empty: it is of the model
  std::string_view text;
};

/// The explanation of the model, and those of bodies behind it.
Result<std::vector<Section>> sections_of(std::string_view text) {
  constexpr std::string_view keyword = "\nend\nbody ";
  std::vector<Section> result(1);
  while (true) {
    const std::size_t next = text.find(keyword);
    if (next == std::string_view::npos) break;
    result.back().text = text.substr(0, next + std::string_view("\nend\n").size());
    text.remove_prefix(next + keyword.size());
    const std::size_t end = text.find('\n');
    auto place = unquote(text.substr(0, end));
    if (end == std::string_view::npos || !place || place->empty())
      return bad_input("a line 'body' does not say which body");
    result.push_back({std::move(*place), {}});
    text.remove_prefix(end + 1);
  }
  result.back().text = text;
  return result;
}

/// Checks the explanation of a body, where nothing is known of what is around it.
Result<ExplanationSize> check_body(const Section& section, const RuleTable& rules,
                                   const RuleNames& bitwise, ExplanationPremises premises) {
  premises.promised.clear();  // they are of inputs of the model
  premises.observes_outputs = true;
  if (auto alone = check_explanation(section.text, rules, bitwise, premises)) return alone;
  premises.observes_outputs = false;
  LEMMA_ASSIGN_OR_RETURN(ExplanationSize size,
                         check_explanation(section.text, rules, bitwise, premises));
  size.unchecked.emplace_back("that nothing around it tells NaN in its outputs from numbers");
  return size;
}

std::string report(std::string_view what, const ExplanationSize& size) {
  std::string result = fmt::format("{} holds: {} outputs equal by {} steps with {} rules\n", what,
                                   size.outputs, size.steps, size.rules);
  for (const std::string& promised : size.promised)
    result += fmt::format("  promised on the command line: {}\n", promised);
  for (const std::string& unchecked : size.unchecked)
    result += fmt::format("  not checked: {}\n", unchecked);
  return result;
}

}  // namespace

Result<CheckedExplanation> check_explanation_file(const std::filesystem::path& file,
                                                  const RuleTable& rules, const RuleNames& bitwise,
                                                  const ExplanationPremises& premises) {
  LEMMA_ASSIGN_OR_RETURN(const std::string contents, read_text_file(file));
  LEMMA_ASSIGN_OR_RETURN(const std::vector<Section> sections, sections_of(contents));
  CheckedExplanation result{"", true};
  std::set<std::string> outside;
  for (const Section& section : sections) {
    const std::string what = section.body.empty()
                                 ? file.string()
                                 : fmt::format("{}, body {},", file.string(), section.body);
    auto size = section.body.empty() ? check_explanation(section.text, rules, bitwise, premises)
                                     : check_body(section, rules, bitwise, premises);
    if (!size)
      return section.body.empty() ? tl::unexpected<Error>(std::move(size.error()))
                                  : with_context("body " + section.body, std::move(size.error()));
    result.text += report(what, *size);
    result.is_complete = result.is_complete && size->unchecked.empty();
    outside.insert(size->outside.begin(), size->outside.end());
  }
  for (const std::string& uncovered : outside)
    result.text += fmt::format("  outside: {}\n", uncovered);
  return result;
}

bool is_proved(const Substitution& rule, const RuleTable& proved) {
  const auto entry = proved.find(rule.name);
  return entry != proved.end() && text(*entry->second) == text(rule);
}

}  // namespace lemma::checker
