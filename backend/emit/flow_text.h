#pragma once
// The instructions of a program with control flow as constant tables for parts/flow.h.

#include <string>

#include "backend/flow_program.h"

namespace lemma::backend {

/// The file flow_tables.h.
std::string flow_tables_text(const FlowProgram& program);

}  // namespace lemma::backend
