#include "backend/emit/statements.h"

#include <iterator>

#include <fmt/format.h>

namespace lemma::backend::source {

namespace {

/// Visits the lists of statements inside of a statement, which may be const.
template <typename AnyStatement, typename Visitor>
void visit_bodies(AnyStatement& statement, const Visitor& visitor) {
  std::visit(
      [&visitor](auto& kind) {
        if constexpr (requires { kind.body; }) visitor(kind.body);
        if constexpr (requires { kind.otherwise; }) visitor(kind.otherwise);
        if constexpr (requires { kind.cases; })
          for (auto& of_label : kind.cases) visitor(of_label.body);
        if constexpr (requires { kind.lambdas; })
          for (auto& lambda : kind.lambdas) visitor(lambda.body);
      },
      statement.kind);
}

/// The body of a statement that can be opened.
Statements& body_of(Statement& statement) {
  Statements* result = nullptr;
  std::visit(
      [&result](auto& kind) {
        if constexpr (requires { kind.body; }) result = &kind.body;
      },
      statement.kind);
  return *result;
}

template <typename Found>
bool any_expression(const Statements& statements, const Found& holds) {
  bool result = false;
  visit_expressions(statements,
                    [&](const Expression& expression) { result = result || holds(expression); });
  return result;
}

}  // namespace

void visit(const Statements& statements, const std::function<void(const Statement&)>& visitor) {
  for (const Statement& statement : statements) {
    visitor(statement);
    visit_bodies(statement, [&visitor](const Statements& body) { visit(body, visitor); });
  }
}

void visit_expressions(const Statements& statements,
                       const std::function<void(const Expression&)>& visitor) {
  visit(statements, [&visitor](const Statement& statement) {
    std::visit(
        [&visitor](const auto& kind) {
          if constexpr (requires { visitor(kind.value); }) visitor(kind.value);
          if constexpr (requires { kind.arguments; })
            for (const Expression& argument : kind.arguments) visitor(argument);
        },
        statement.kind);
  });
}

bool has_guarded_loads(const Statements& statements) {
  bool has_guard = false;
  visit(statements, [&has_guard](const Statement& statement) {
    has_guard = has_guard || std::holds_alternative<Guard>(statement.kind);
  });
  return has_guard || any_expression(statements, [](const Expression& expression) {
           return expression.checks_bounds;
         });
}

Statements with_ok(Statements statements) {
  if (any_expression(statements,
                     [](const Expression& expression) { return expression.notes_divisors; }))
    statements.insert(statements.begin(),
                      Declaration{.type = "std::uint8_t", .name = "ok", .value = "1"});
  return statements;
}

void put_in(Statements& statements, const std::function<Statements(std::size_t)>& statements_of) {
  Statements result;
  for (Statement& statement : statements) {
    visit_bodies(statement, [&](Statements& body) { put_in(body, statements_of); });
    if (const auto* part = std::get_if<Part>(&statement.kind)) {
      Statements in_place = statements_of(part->number);
      std::move(in_place.begin(), in_place.end(), std::back_inserter(result));
    } else {
      result.push_back(std::move(statement));
    }
  }
  statements = std::move(result);
}

void Builder::add(Statements statements) {
  std::move(statements.begin(), statements.end(), std::back_inserter(bodies_.back()));
}

void Builder::open(Statement statement) {
  open_.push_back(std::move(statement));
  bodies_.emplace_back();
}

void Builder::otherwise() {
  std::get<Guard>(open_.back().kind).body = std::exchange(bodies_.back(), {});
  has_otherwise_.insert(open_.size());
}

void Builder::close(std::size_t count) {
  for (; count > 0; --count) {
    Statement statement = std::move(open_.back());
    Statements body = std::move(bodies_.back());
    const bool is_otherwise = has_otherwise_.erase(open_.size()) > 0;
    open_.pop_back();
    bodies_.pop_back();
    (is_otherwise ? std::get<Guard>(statement.kind).otherwise : body_of(statement)) =
        std::move(body);
    add(std::move(statement));
  }
}

Loop counting_loop(const std::string& variable, const std::string& first, const std::string& end,
                   const std::string& step, const std::string& type) {
  return {type,
          variable,
          first,
          fmt::format("{} < {}", variable, end),
          step == "1" ? "++" + variable : fmt::format("{} += {}", variable, step),
          {}};
}

Declaration constant(std::string type, std::string name, Expression value) {
  return {.mutability = Mutability::constant,
          .type = std::move(type),
          .name = std::move(name),
          .value = std::move(value)};
}

Declaration compile_time_constant(std::string type, std::string name, Expression value) {
  return {.mutability = Mutability::compile_time,
          .type = std::move(type),
          .name = std::move(name),
          .value = std::move(value)};
}

}  // namespace lemma::backend::source
