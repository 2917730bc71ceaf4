#pragma once
// Failure as a value. Three kinds of failure exist in Lemma: bad input (an Error of kind
// `bad_input`, worded for the person who supplied the input), something the input asks for and
// Lemma does not do (`unsupported`), and a broken invariant (`internal`). "No answer" is none of
// them: it is a verdict, and has types of its own.

#include <string>
#include <string_view>
#include <utility>

#include <tl/expected.hpp>

namespace lemma {

/// Which of the three kinds of failure it is, as the comment of this file says.
enum class ErrorKind { bad_input, unsupported, internal };

/// A failure and where it happened. `message` is one line, lower case, without a full stop;
/// contexts (file, then node, then detail) are prepended with ": " between them.
struct Error {
  ErrorKind kind = ErrorKind::bad_input;  // decides the exit code of a command (docs/exit_codes.md)
  std::string message;                    // says what is wrong, and what would be right
};

/// A value, or an Error. The compiler warns where one is ignored.
template <typename T>
class [[nodiscard]] Result : public tl::expected<T, Error> {
  using Expected = tl::expected<T, Error>;

 public:
  using Expected::Expected;
  using Expected::operator=;
  Result(Expected other) : Expected(std::move(other)) {}  // NOLINT(google-explicit-constructor)
};

/// What a function returns to fail, whatever the type of its Result.
inline tl::unexpected<Error> fail(ErrorKind kind, std::string message) {
  return tl::unexpected<Error>(Error{kind, std::move(message)});
}
/// The input is wrong.
inline tl::unexpected<Error> bad_input(std::string message) {
  return fail(ErrorKind::bad_input, std::move(message));
}
/// The input asks for something that Lemma does not do.
inline tl::unexpected<Error> unsupported(std::string message) {
  return fail(ErrorKind::unsupported, std::move(message));
}
/// An invariant of Lemma is broken.
inline tl::unexpected<Error> internal_error(std::string message) {
  return fail(ErrorKind::internal, std::move(message));
}

/// The same error, one level further out.
inline tl::unexpected<Error> with_context(std::string_view context, Error error) {
  error.message.insert(0, std::string(context) + ": ");
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace lemma

/// Two tokens as one; macros among them are not expanded.
#define LEMMA_CONCATENATE_(a, b) a##b
/// The same for macros such as __LINE__, which are expanded first.
#define LEMMA_CONCATENATE(a, b) LEMMA_CONCATENATE_(a, b)

/// LEMMA_ASSIGN_OR_RETURN(auto x, f()); declares x from a Result, or returns its error.
#define LEMMA_ASSIGN_OR_RETURN(declaration, ...) \
  LEMMA_ASSIGN_OR_RETURN_(LEMMA_CONCATENATE(lemma_result_, __LINE__), declaration, __VA_ARGS__)
/// The same where `result` is the name of the variable that holds the Result.
#define LEMMA_ASSIGN_OR_RETURN_(result, declaration, ...)                        \
  auto result = (__VA_ARGS__);                                                   \
  if (!result) return tl::unexpected<::lemma::Error>(std::move(result.error())); \
  declaration = std::move(*result)

/// LEMMA_RETURN_IF_ERROR(f()); for a Result whose value is not needed.
#define LEMMA_RETURN_IF_ERROR(...)                                                             \
  do {                                                                                         \
    auto lemma_status = (__VA_ARGS__);                                                         \
    if (!lemma_status) return tl::unexpected<::lemma::Error>(std::move(lemma_status.error())); \
  } while (false)
