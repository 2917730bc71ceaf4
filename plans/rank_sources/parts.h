#pragma once
// The files of emitted plans that do not depend on the plan, as text in this library.

#include <string_view>

namespace lemma::plans::parts {

extern const std::string_view rank_run_time;  // parts/rank_run_time.h.in
extern const std::string_view main_source;    // parts/main.cpp.in

}  // namespace lemma::plans::parts
