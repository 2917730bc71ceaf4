#include "verifier/exchange/rewrite_text.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "ir/operator.h"
#include "verifier/exchange/rewrite_forms.h"

namespace lemma::exchange {
namespace {

using Kind = Form::Kind;
using Sort = Form::Sort;

// ---- egg: writing ---------------------------------------------------------------------------------------------------

std::string egg_text(const Form& form) {
  if (form.kind == Kind::variable) return "?" + form.word;
  if (form.kind == Kind::text) return '"' + form.word + '"';
  if (form.kind != Kind::apply) return form.word;
  std::string result = "(" + form.word;
  for (const Form& part : form.parts) result += " " + egg_text(part);
  return result + ")";
}

std::string egg_side(const std::vector<Form>& terms) {
  if (terms.size() == 1) return egg_text(terms[0]);
  std::vector<std::string> words;
  for (std::size_t i = 0; i < terms.size(); ++i)
    words.push_back(fmt::format("?root-{} = {}", i, egg_text(terms[i])));
  return fmt::format("{}", fmt::join(words, " , "));
}

std::string egg_line(const RewriteForm& rule) {
  std::string result = fmt::format("{}; {} {} {}", rule.name, egg_side(rule.left),
                                   rule.bidirectional ? "<=>" : "=>", egg_side(rule.right));
  for (const Form& fact : rule.facts) result += " if " + egg_text(fact);
  return result + "\n";
}

// ---- egglog: writing ------------------------------------------------------------------------------------------------

std::string sort_name(Sort sort) { return sort == Sort::tensor ? "Tensor" : "Attribute"; }

/// Writes forms and remembers the constructors and relations that they use.
class EgglogWriter {
 public:
  std::string write(const Form& form) {
    switch (form.kind) {
      case Kind::variable: return form.word;
      case Kind::number: return fmt::format("(Number {})", form.word);
      case Kind::real: return fmt::format("(Real \"{}\")", form.word);
      case Kind::text: return fmt::format("(Text \"{}\")", form.word);
      case Kind::type: return fmt::format("(Type \"{}\")", form.word);
      case Kind::apply: break;
    }
    std::string result = "(" + declared(form);
    for (const Form& part : form.parts) result += " " + write(part);
    return result + ")";
  }

  std::string write(const std::vector<Form>& forms) {
    std::vector<std::string> words;
    for (const Form& form : forms) words.push_back(write(form));
    return fmt::format("{}", fmt::join(words, " "));
  }

  std::string rule(const RewriteForm& form) {
    const std::string facts = write(form.facts);
    std::string result = fmt::format("(ruleset {})\n", form.name);
    if (form.left.size() == 1)
      return result + fmt::format("({} {} {} :when ({}) :ruleset {})\n",
                                  form.bidirectional ? "birewrite" : "rewrite", write(form.left[0]),
                                  write(form.right[0]), facts, form.name);
    result += several(form.left, form.right, facts, form.name);
    return form.bidirectional ? result + several(form.right, form.left, facts, form.name) : result;
  }

  std::string declarations() const {
    std::string result =
        "(sort Tensor)\n(sort Attribute)\n(constructor Number (i64) Attribute)\n"
        "(constructor Real (String) Attribute)\n(constructor Text (String) Attribute)\n"
        "(constructor Type (String) Attribute)\n";
    for (const auto& [name, declaration] : declarations_) result += declaration;
    const std::string holds = fmt::format("{}/0/0", equation_fact);
    return declarations_.contains(holds) ? result + fmt::format("({})\n", holds) : result;
  }

 private:
  /// The name of a head with the numbers of its operands.
  std::string declared(const Form& form) {
    std::size_t tensors = 0;
    std::vector<std::string> sorts;
    for (const Form& part : form.parts) {
      sorts.push_back(sort_name(part.sort));
      tensors += part.sort == Sort::tensor ? 1 : 0;
    }
    const std::string name =
        fmt::format("{}/{}/{}", form.word, form.parts.size() - tensors, tensors);
    const std::string operands = fmt::format("({})", fmt::join(sorts, " "));
    declarations_[name] =
        form.sort == Sort::fact
            ? fmt::format("(relation {} {})\n", name, operands)
            : fmt::format("(constructor {} {} {})\n", name, operands, sort_name(form.sort));
    return name;
  }

  std::string several(const std::vector<Form>& from, const std::vector<Form>& to,
                      const std::string& facts, const std::string& name) {
    std::string query, actions;
    for (std::size_t i = 0; i < from.size(); ++i) {
      query += fmt::format("(= root-{} {}) ", i, write(from[i]));
      actions += fmt::format("{}(union root-{} {})", i == 0 ? "" : " ", i, write(to[i]));
    }
    return fmt::format("(rule ({}{}) ({}) :ruleset {})\n", query, facts, actions, name);
  }

  std::map<std::string, std::string> declarations_;
};

// ---- Reading --------------------------------------------------------------------------------------------------------

/// A parenthesized list, or a word.
struct Node {
  std::string word;
  bool is_list = false, is_quoted = false;
  std::vector<Node> parts;
  std::size_t line = 0;

  bool is(std::string_view text) const { return !is_list && !is_quoted && word == text; }
  bool begins(std::string_view head) const {
    return is_list && !parts.empty() && parts[0].is(head);
  }
};

class NodeReader {
 public:
  NodeReader(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Result<std::vector<Node>> all() {
    std::vector<Node> result;
    while (skip_blank()) {
      LEMMA_ASSIGN_OR_RETURN(Node node, next());
      result.push_back(std::move(node));
    }
    return result;
  }

 private:
  tl::unexpected<Error> error(std::size_t line, std::string_view what) const {
    return bad_input(fmt::format("{}:{}: {}", file_, line, what));
  }

  /// False at the end.
  bool skip_blank() {
    while (at_ < text_.size()) {
      if (text_[at_] == ';' && (at_ == 0 || text_[at_ - 1] == '\n'))
        at_ = std::min(text_.find('\n', at_), text_.size());
      else if (std::string_view(" \t\r\n").find(text_[at_]) == std::string_view::npos)
        return true;
      else
        line_ += text_[at_++] == '\n' ? 1U : 0U;
    }
    return false;
  }

  Result<Node> next() {
    Node node;
    node.line = line_;
    if (text_[at_] == ')') return error(line_, "a ')' without its '('");
    if (text_[at_] == '(') return list(std::move(node));
    if (text_[at_] == '"') {
      const std::size_t end = text_.find_first_of("\"\n", at_ + 1);
      if (end == std::string_view::npos || text_[end] == '\n')
        return error(line_, "a '\"' is missing");
      node.is_quoted = true;
      node.word = text_.substr(at_ + 1, end - at_ - 1);
      at_ = end + 1;
      return node;
    }
    const std::size_t end = std::min(text_.find_first_of(" \t\r\n()\"", at_), text_.size());
    node.word = text_.substr(at_, end - at_);
    at_ = end;
    return node;
  }

  Result<Node> list(Node node) {
    node.is_list = true;
    ++at_;
    if (++depth_ > most_depth) return error(node.line, "too many '(' within each other");
    while (skip_blank() && text_[at_] != ')') {
      LEMMA_ASSIGN_OR_RETURN(Node part, next());
      node.parts.push_back(std::move(part));
    }
    if (at_ == text_.size()) return error(node.line, "a ')' is missing");
    ++at_;
    --depth_;
    return node;
  }

  static constexpr int most_depth = 1000;
  std::string_view text_;
  std::string file_;
  std::size_t at_ = 0, line_ = 1;
  int depth_ = 0;
};

Sort sort_of_head(const std::string& head) {
  const bool is_tensor = find_operator(head) || head == "none" || head == "output";
  return is_tensor ? Sort::tensor : Sort::attribute;
}

class FormReader {
 public:
  FormReader(RewriteFormat format, std::string file) : format_(format), file_(std::move(file)) {}

  tl::unexpected<Error> error(std::size_t line, std::string_view what) const {
    return bad_input(fmt::format("{}:{}: {}", file_, line, what));
  }

  Result<std::vector<Form>> forms(const std::vector<Node>& nodes, std::size_t begin = 0) const {
    std::vector<Form> result;
    for (std::size_t i = begin; i < nodes.size(); ++i) {
      LEMMA_ASSIGN_OR_RETURN(Form form, read(nodes[i]));
      result.push_back(std::move(form));
    }
    return result;
  }

  /// A side of a rule, or one of its outputs.
  Result<Form> term(const Node& node) const {
    LEMMA_ASSIGN_OR_RETURN(Form form, read(node));
    if (form.kind != Kind::apply && form.kind != Kind::variable)
      return error(node.line, fmt::format("'{}' is no term", form.word));
    if (form.kind == Kind::apply && form.sort != Sort::tensor)
      return error(node.line, fmt::format("there is no operator '{}'", form.word));
    return form;
  }

  Result<Form> read(const Node& node) const {
    if (!node.is_list) return word(node);
    if (node.parts.empty() || node.parts[0].is_list)
      return error(node.line, "a form without a head");
    const std::string& head = node.parts[0].word;
    if (const auto kind = literal(head); kind && node.parts.size() == 2)
      return Form{*kind, Sort::attribute, node.parts[1].word, {}};
    LEMMA_ASSIGN_OR_RETURN(std::vector<Form> parts, forms(node.parts, 1));
    const std::string name =
        format_ == RewriteFormat::egglog ? head.substr(0, head.find('/', 1)) : head;
    Form result{Kind::apply, sort_of_head(name), name, std::move(parts)};
    // A variable stands for a tensor where an operator or a fact about tensors has it.
    if (result.sort == Sort::tensor || name == "tensor" || name == "defined" || name == "weight")
      for (Form& part : result.parts)
        if (part.kind == Kind::variable) part.sort = Sort::tensor;
    return result;
  }

 private:
  /// What egglog's literals stand for.
  std::optional<Kind> literal(const std::string& head) const {
    if (format_ == RewriteFormat::egg) return std::nullopt;
    static const std::map<std::string_view, Kind> kinds = {
        {"Number", Kind::number}, {"Real", Kind::real}, {"Text", Kind::text}, {"Type", Kind::type}};
    const auto kind = kinds.find(head);
    return kind == kinds.end() ? std::nullopt : std::optional(kind->second);
  }

  Result<Form> word(const Node& node) const {
    if (format_ == RewriteFormat::egglog)
      return Form{Kind::variable, Sort::attribute, node.word, {}};
    if (node.is_quoted) return Form{Kind::text, Sort::attribute, node.word, {}};
    if (node.word.starts_with('?'))
      return Form{Kind::variable, Sort::attribute, node.word.substr(1), {}};
    // Numbers and types are written as the rule's language has them.
    return Form{Kind::number, Sort::attribute, node.word, {}};
  }

  RewriteFormat format_;
  std::string file_;
};

// ---- egg: reading ---------------------------------------------------------------------------------------------------

/// One line; `nodes` are its words and lists.
class EggLine {
 public:
  EggLine(const std::vector<Node>& nodes, const FormReader& reader)
      : nodes_(nodes), reader_(reader) {}

  Result<RewriteForm> read() {
    RewriteForm result;
    result.line = nodes_[0].line;
    if (!nodes_[0].word.ends_with(';')) return error("a rule begins with its name and ';'");
    result.name = nodes_[0].word.substr(0, nodes_[0].word.size() - 1);
    LEMMA_ASSIGN_OR_RETURN(result.left, side());
    if (at_ == nodes_.size() || !(nodes_[at_].is("=>") || nodes_[at_].is("<=>")))
      return error("expected '=>' or '<=>'");
    result.bidirectional = nodes_[at_++].is("<=>");
    LEMMA_ASSIGN_OR_RETURN(result.right, side());
    while (at_ < nodes_.size()) {
      if (!nodes_[at_].is("if") || at_ + 1 == nodes_.size())
        return error("expected 'if' and a fact");
      LEMMA_ASSIGN_OR_RETURN(Form fact, reader_.read(nodes_[at_ + 1]));
      result.facts.push_back(std::move(fact));
      at_ += 2;
    }
    return result;
  }

 private:
  tl::unexpected<Error> error(std::string_view what) const {
    return reader_.error(nodes_[0].line, what);
  }

  /// A pattern, or `?root-0 = PATTERN , ?root-1 = PATTERN ...`.
  Result<std::vector<Form>> side() {
    std::vector<Form> result;
    while (true) {
      if (at_ + 1 < nodes_.size() && nodes_[at_ + 1].is("=")) at_ += 2;
      if (at_ >= nodes_.size()) return error("a side is missing");
      LEMMA_ASSIGN_OR_RETURN(Form form, reader_.term(nodes_[at_++]));
      result.push_back(std::move(form));
      if (at_ == nodes_.size() || !nodes_[at_].is(",")) return result;
      ++at_;
    }
  }

  const std::vector<Node>& nodes_;
  const FormReader& reader_;
  std::size_t at_ = 1;
};

Result<std::vector<RewriteForm>> egg_rules(std::vector<Node> nodes, const FormReader& reader) {
  std::vector<RewriteForm> result;
  for (std::size_t begin = 0; begin < nodes.size();) {
    std::size_t end = begin;
    while (end < nodes.size() && nodes[end].line == nodes[begin].line) ++end;
    const std::vector<Node> line(nodes.begin() + static_cast<std::ptrdiff_t>(begin),
                                 nodes.begin() + static_cast<std::ptrdiff_t>(end));
    LEMMA_ASSIGN_OR_RETURN(RewriteForm rule, EggLine(line, reader).read());
    result.push_back(std::move(rule));
    begin = end;
  }
  return result;
}

// ---- egglog: reading ------------------------------------------------------------------------------------------------

/// What follows a keyword such as `:when`; nothing if it is missing.
const Node* after(const Node& command, std::string_view keyword) {
  for (std::size_t i = 0; i + 1 < command.parts.size(); ++i)
    if (command.parts[i].is(keyword)) return &command.parts[i + 1];
  return nullptr;
}

/// `(rewrite L R ...)`, `(birewrite L R ...)`.
Result<RewriteForm> rewrite_of(const Node& command, const FormReader& reader) {
  RewriteForm result;
  result.line = command.line;
  const Node *facts = after(command, ":when"), *name = after(command, ":ruleset");
  if (command.parts.size() < 3 || facts == nullptr || name == nullptr)
    return reader.error(command.line, "a rewrite has two sides, ':when' and ':ruleset'");
  result.name = name->word;
  result.bidirectional = command.begins("birewrite");
  LEMMA_ASSIGN_OR_RETURN(Form left, reader.term(command.parts[1]));
  LEMMA_ASSIGN_OR_RETURN(Form right, reader.term(command.parts[2]));
  result.left.push_back(std::move(left));
  result.right.push_back(std::move(right));
  LEMMA_ASSIGN_OR_RETURN(result.facts, reader.forms(facts->parts));
  return result;
}

/// `(rule ((= root-0 L0) ... FACT...) ((union root-0 R0) ...) :ruleset NAME)`.
Result<RewriteForm> rule_with_outputs(const Node& command, const FormReader& reader) {
  RewriteForm result;
  result.line = command.line;
  const Node* name = after(command, ":ruleset");
  if (command.parts.size() < 3 || name == nullptr)
    return reader.error(command.line, "a rule has a query, actions and ':ruleset'");
  result.name = name->word;
  for (const Node& part : command.parts[1].parts) {
    const bool is_output = part.begins("=") && part.parts.size() == 3;
    auto form = is_output ? reader.term(part.parts[2]) : reader.read(part);
    if (!form) return tl::unexpected(form.error());
    (is_output ? result.left : result.facts).push_back(std::move(*form));
  }
  for (const Node& part : command.parts[2].parts) {
    if (!part.begins("union") || part.parts.size() != 3)
      return reader.error(part.line, "an action that is no union");
    LEMMA_ASSIGN_OR_RETURN(Form form, reader.term(part.parts[2]));
    result.right.push_back(std::move(form));
  }
  return result;
}

/// A rule that follows its converse makes it an equation.
bool is_converse(const RewriteForm& a, const RewriteForm& b) {
  return a.name == b.name && a.left == b.right && a.right == b.left && a.facts == b.facts;
}

Result<std::vector<RewriteForm>> egglog_rules(const std::vector<Node>& commands,
                                              const FormReader& reader) {
  static constexpr std::array<std::string_view, 4> declarations = {"sort", "constructor",
                                                                   "relation", "ruleset"};
  std::vector<RewriteForm> result;
  for (const Node& command : commands) {
    if (std::any_of(declarations.begin(), declarations.end(),
                    [&command](std::string_view head) { return command.begins(head); }) ||
        command.begins(fmt::format("{}/0/0", equation_fact)))
      continue;
    const bool has_outputs = command.begins("rule");
    if (!has_outputs && !command.begins("rewrite") && !command.begins("birewrite"))
      return reader.error(command.line, "expected a declaration, a rewrite or a rule");
    auto rule = has_outputs ? rule_with_outputs(command, reader) : rewrite_of(command, reader);
    if (!rule) return tl::unexpected(rule.error());
    if (has_outputs && !result.empty() && is_converse(result.back(), *rule))
      result.back().bidirectional = true;
    else
      result.push_back(std::move(*rule));
  }
  return result;
}

}  // namespace

WrittenRewrites write_rewrites(const std::vector<Substitution>& rules, RewriteFormat format) {
  WrittenRewrites result;
  EgglogWriter egglog;
  std::string body;
  for (const Substitution& rule : rules) {
    const auto form = form_of(rule);
    if (!form) {
      result.left_out.push_back(rule.name + ": " + form.error().message);
      continue;
    }
    ++result.count;
    body += format == RewriteFormat::egg ? egg_line(*form) : egglog.rule(*form);
  }
  result.text = format == RewriteFormat::egg ? body : egglog.declarations() + body;
  return result;
}

Result<std::vector<Substitution>> read_rewrites(std::string_view text, RewriteFormat format,
                                                const std::string& file) {
  LEMMA_ASSIGN_OR_RETURN(std::vector<Node> nodes, NodeReader(text, file).all());
  const FormReader reader(format, file);
  auto forms = format == RewriteFormat::egg ? egg_rules(std::move(nodes), reader)
                                            : egglog_rules(nodes, reader);
  if (!forms) return tl::unexpected(forms.error());
  std::vector<Substitution> rules;
  for (const RewriteForm& form : *forms) {
    LEMMA_ASSIGN_OR_RETURN(Substitution rule, rule_of(form, file));
    rules.push_back(std::move(rule));
  }
  return rules;
}

}  // namespace lemma::exchange
