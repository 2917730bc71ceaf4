#pragma once
// Kernels as trees of statements: what emitters make of loop nests, and what print.h writes in a language. Expressions are
// text already; all else, such as braces, and what a language has in place of a word, is the printer's.

#include <concepts>
#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace lemma::backend::source {

struct Expression {
  Expression() = default;
  Expression(std::string written) : text(std::move(written)) {}  // NOLINT: text is an expression
  Expression(std::string_view written) : text(written) {}        // NOLINT
  Expression(const char* written) : text(written) {}             // NOLINT

  std::string text;
  bool notes_divisors = false;  // sets `ok` to 0 where a divisor is zero
  bool checks_bounds = false;   // of what it reads
};

struct Statement;
using Statements = std::vector<Statement>;

struct Comment {
  std::string text;
};

enum class Mutability : std::uint8_t { variable, constant, compile_time };

/// A variable, or an array of these extents.
struct Declaration {
  Mutability mutability = Mutability::variable;
  std::string type, name;
  Expression value = {};  // or empty
  std::vector<std::string> extents = {};
  bool may_be_unused = false;
  int alignment = 0;         // in bytes; 0: of the type
  std::string comment = {};  // or empty
};

/// The pointer NAME to a tensor, which is an element of an array of pointers.
struct TensorDeclaration {
  std::string name, type;  // of its elements
  std::string array;
  std::size_t number = 0;
  bool is_read = false;       // else it is written
  bool is_unaliased = false;  // for compilers that make use of it
  bool may_be_unused = false;
  bool is_in_memory = false;  // of a device, not in that of a block
};

struct TypeAlias {
  std::string name, type;
};

/// "target = value;", or with another operation. `condition`: where it does not hold, nothing is assigned; or empty.
struct Assignment {
  std::string target;
  Expression value;
  std::string operation = "=";
  std::string condition = {};
};

/// A call without a value.
struct Call {
  std::string function;
  std::vector<Expression> arguments = {};
};

struct Return {
  Expression value;
};

/// All threads of the block or of the warp wait for each other.
struct Barrier {
  bool is_of_warp = false;
  std::string comment = {};  // or empty
};

/// for (TYPE VARIABLE = first; condition; advance)
struct Loop {
  std::string type, variable, first, condition, advance;
  Statements body;
  bool is_unrolled = false;        // by compilers of devices
  std::int64_t turns_at_once = 1;  // that a compiler for processors writes one after the other
};

/// `otherwise` may have no statements.
struct Guard {
  std::string condition;
  Statements body, otherwise;
};

/// A scope.
struct Block {
  Statements body;
};

struct Case {
  std::string label;
  Statements body;
};
/// A switch over labels. Where none has the value, it returns.
struct Switch {
  std::string value;
  std::vector<Case> cases;
};

struct Parameter {
  std::string type, name;
  bool is_unaliased = false;
  bool may_be_unused = false;
};

/// A function without a name, which refers to the variables around it.
struct Lambda {
  std::vector<Parameter> parameters;
  Statements body;
};

/// const auto NAME = function(arguments, lambdas); or the lambda itself, where there is no function.
struct LambdaDeclaration {
  std::string name, function;
  std::vector<Expression> arguments;
  std::vector<Lambda> lambdas;
};

/// Stands for statements that are put in later (put_in).
struct Part {
  std::size_t number = 0;
};

struct Statement {
  using Kind = std::variant<Comment, Declaration, TensorDeclaration, TypeAlias, Assignment, Call,
                            Return, Barrier, Loop, Guard, Block, Switch, LambdaDeclaration, Part>;

  template <typename T>
  requires std::constructible_from<Kind, T&&> Statement(T&& statement)  // NOLINT: it is one
      : kind(std::forward<T>(statement)) {}

  Kind kind;
};

struct Function {
  std::vector<Parameter> parameters;
  Statements body;
};

/// Visits all statements, each before those inside of it.
void visit(const Statements& statements, const std::function<void(const Statement&)>& visitor);
/// The same for expressions that statements compute or call.
void visit_expressions(const Statements& statements,
                       const std::function<void(const Expression&)>& visitor);

/// Guards are branches, and bounds are checked where elements are loaded.
bool has_guarded_loads(const Statements& statements);

/// Declares `ok` in front of the statements, if one of them takes note of divisors of zero.
Statements with_ok(Statements statements);

/// The statements of each part in its place.
void put_in(Statements& statements,
            const std::function<Statements(std::size_t part)>& statements_of);

/// Puts statements after each other, and into those that are open.
class Builder {
 public:
  void add(Statement statement) { bodies_.back().push_back(std::move(statement)); }
  void add(Statements statements);
  /// A loop, a guard or a block: what follows goes into it.
  void open(Statement statement);
  /// Makes what follows the part for where the guard that was opened last does not hold.
  void otherwise();
  void close(std::size_t count = 1);
  /// Nothing is open.
  Statements take() { return std::exchange(bodies_.front(), {}); }

 private:
  std::vector<Statement> open_;
  std::vector<Statements> bodies_ =
      std::vector<Statements>(1);        // the outermost one, then those of what is open
  std::set<std::size_t> has_otherwise_;  // how many were open with a guard that has gone so far
};

/// for (std::int64_t VARIABLE = first; VARIABLE < end; VARIABLE += step)
Loop counting_loop(const std::string& variable, const std::string& first, const std::string& end,
                   const std::string& step = "1", const std::string& type = "std::int64_t");

/// "const TYPE NAME = value;"
Declaration constant(std::string type, std::string name, Expression value);
/// "constexpr TYPE NAME = value;"
Declaration compile_time_constant(std::string type, std::string name, Expression value);

}  // namespace lemma::backend::source
