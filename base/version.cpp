#include "base/version.h"

namespace lemma {

std::string_view version() { return LEMMA_VERSION; }

}  // namespace lemma
