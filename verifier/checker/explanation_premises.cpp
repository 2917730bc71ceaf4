#include "verifier/checker/explanation_premises.h"

#include <fmt/format.h>

namespace lemma::checker {

Result<void> add_promise(const std::string& text, ExplanationPremises& premises) {
  const std::size_t colon = text.rfind(": ");
  if (colon == std::string::npos || colon == 0)
    return bad_input(fmt::format(
        "--given '{}' is not of the form 'NAME: FACTS', as in 'x: defined finite [0, 1]'", text));
  LEMMA_ASSIGN_OR_RETURN(const ValueFacts facts, parse_facts(text.substr(colon + 2)));
  premises.promised.insert_or_assign(text.substr(0, colon), facts);
  return {};
}

}  // namespace lemma::checker
