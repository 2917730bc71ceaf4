#include "backend/emit/print.h"

#include <fmt/format.h>

namespace lemma::backend::source {

namespace {

std::string comma_list(const std::vector<Expression>& expressions) {
  std::string list;
  for (const Expression& expression : expressions)
    list += (list.empty() ? "" : ", ") + expression.text;
  return list;
}

class Printer {
 public:
  Printer(Dialect dialect, int indent) : dialect_(dialect), indent_(indent) {}

  void print(const Statements& statements) {
    for (const Statement& statement : statements)
      std::visit([this](const auto& kind) { print(kind); }, statement.kind);
  }

  std::string parameters(const std::vector<Parameter>& parameters) const {
    std::string list;
    for (const Parameter& parameter : parameters)
      list += fmt::format("{}{}{} {}{}", list.empty() ? "" : ", ", unused(parameter.may_be_unused),
                          parameter.type, unaliased(parameter.is_unaliased), parameter.name);
    return list;
  }

  std::string take() { return std::move(text_); }

 private:
  void line(std::string_view text) {
    text_.append(static_cast<std::size_t>(indent_), ' ');
    text_ += text;
    text_ += '\n';
  }

  void body(const Statements& statements) {
    indent_ += 2;
    print(statements);
    indent_ -= 2;
  }

  static std::string_view unused(bool may_be_unused) {
    return may_be_unused ? "[[maybe_unused]] " : "";
  }
  std::string_view unaliased(bool is_unaliased) const {
    return is_unaliased && dialect_ == Dialect::cpp ? "__restrict " : "";
  }
  static std::string trailing(const std::string& comment) {
    return comment.empty() ? "" : "  // " + comment;
  }

  void print(const Comment& comment) { line("// " + comment.text); }

  void print(const Declaration& declaration) {
    std::string text(unused(declaration.may_be_unused));
    if (declaration.alignment > 0) text += fmt::format("alignas({}) ", declaration.alignment);
    if (declaration.mutability == Mutability::constant) text += "const ";
    if (declaration.mutability == Mutability::compile_time) text += "constexpr ";
    text += declaration.type + " " + declaration.name;
    for (const std::string& extent : declaration.extents) text += "[" + extent + "]";
    if (!declaration.value.text.empty()) text += " = " + declaration.value.text;
    line(text + ";" + trailing(declaration.comment));
  }

  void print(const TensorDeclaration& tensor) {
    const bool is_in_memory = tensor.is_in_memory && dialect_ == Dialect::cuda;
    line(fmt::format("{0}{1}auto* const {2}{3} = {7}static_cast<{1}{4}*>({5}[{6}]){8};",
                     unused(tensor.may_be_unused), tensor.is_read ? "const " : "",
                     unaliased(tensor.is_unaliased), tensor.name, tensor.type, tensor.array,
                     tensor.number, is_in_memory ? "ptx::in_memory(" : "",
                     is_in_memory ? ")" : ""));
  }

  void print(const TypeAlias& alias) {
    line(fmt::format("using {} = {};", alias.name, alias.type));
  }

  void print(const Assignment& assignment) {
    line(fmt::format("{}{} {} {};",
                     assignment.condition.empty() ? "" : "if (" + assignment.condition + ") ",
                     assignment.target, assignment.operation, assignment.value.text));
  }

  void print(const Call& call) {
    line(fmt::format("{}({});", call.function, comma_list(call.arguments)));
  }

  void print(const Return& result) { line("return " + result.value.text + ";"); }

  /// One thread of a processor runs all phases in order.
  void print(const Barrier& barrier) {
    if (dialect_ == Dialect::cpp)
      line(fmt::format("// Barrier of the {}: one thread runs the phases in order.",
                       barrier.is_of_warp ? "warp" : "block"));
    else
      line((barrier.is_of_warp ? "__syncwarp();" : "__syncthreads();") + trailing(barrier.comment));
  }

  void print(const Loop& loop) {
    if (loop.is_unrolled && dialect_ == Dialect::cuda) line("UNROLL");
    if (loop.turns_at_once > 1 && dialect_ == Dialect::cpp)
      line(fmt::format("#pragma GCC unroll {}", loop.turns_at_once));
    line(fmt::format("for ({} {} = {}; {}; {}) {{", loop.type, loop.variable, loop.first,
                     loop.condition, loop.advance));
    body(loop.body);
    line("}");
  }

  void print(const Guard& guard) {
    line("if (" + guard.condition + ") {");
    body(guard.body);
    if (!guard.otherwise.empty()) {
      line("} else {");
      body(guard.otherwise);
    }
    line("}");
  }

  void print(const Block& block) {
    line("{");
    body(block.body);
    line("}");
  }

  void print(const Switch& choice) {
    line("switch (" + choice.value + ") {");
    indent_ += 2;
    for (const Case& of_label : choice.cases) {
      line("case " + of_label.label + ":");
      body(of_label.body);
      line("  break;");
    }
    indent_ -= 2;
    line("  default: return;");
    line("}");
  }

  void print(const LambdaDeclaration& declared) {
    const std::string start = "const auto " + declared.name + " = " + declared.function;
    if (declared.function.empty()) return lambda(start, declared.lambdas.front(), ";");
    if (declared.arguments.empty() && declared.lambdas.size() == 1)
      return lambda(start + "(", declared.lambdas.front(), ");");
    line(start + "(");
    indent_ += 4;
    for (const Expression& argument : declared.arguments) line(argument.text + ",");
    for (const Lambda& argument : declared.lambdas)
      lambda("", argument, &argument == &declared.lambdas.back() ? ");" : ",");
    indent_ -= 4;
  }

  void lambda(const std::string& before, const Lambda& lambda, std::string_view after) {
    line(before + "[&](" + parameters(lambda.parameters) + ") {");
    body(lambda.body);
    line("}" + std::string(after));
  }

  void print(const Part&) {}

  Dialect dialect_;
  int indent_;
  std::string text_;
};

}  // namespace

std::string print(const Statements& statements, Dialect dialect, int indent) {
  Printer printer(dialect, indent);
  printer.print(statements);
  return printer.take();
}

std::string print_unnamed(const Function& function, Dialect dialect) {
  return fmt::format("({}) {{\n{}}}\n", Printer(dialect, 0).parameters(function.parameters),
                     print(function.body, dialect, 2));
}

std::string function_head(const Function& function, Linkage linkage, Dialect dialect) {
  if (dialect == Dialect::cuda)
    return linkage == Linkage::dispatch ? "__device__ inline void "
                                        : "__device__ __noinline__ void ";
  std::string head = linkage == Linkage::exported ? "extern \"C\" "
                     : linkage == Linkage::phase  ? "[[gnu::noinline]] "
                                                  : "";
  if (linkage == Linkage::exported || has_guarded_loads(function.body)) head += "GUARDED_LOADS ";
  return head + "void ";
}

std::string print(const Function& function, Linkage linkage, std::string_view name,
                  Dialect dialect) {
  return function_head(function, linkage, dialect) + std::string(name) +
         print_unnamed(function, dialect);
}

}  // namespace lemma::backend::source
