#pragma once
// The subcommands of `lemma`. Each function adds one to its parent; `exit_code` is set when it has run.

#include <CLI/CLI.hpp>

#include "batch/exit_code.h"

namespace lemma {

/// `lemma audit`: the proofs of rules for people, step by step, and what rests on which axiom.
void add_audit_command(CLI::App& application, ExitCode& exit_code);
/// `lemma compare A.onnx B.onnx`: whether two models compute the same, on samples.
void add_compare_command(CLI::App& application, ExitCode& exit_code);
/// `lemma compile MODEL -o DIR`: a model as a shared library.
void add_compile_command(CLI::App& application, ExitCode& exit_code);
/// `lemma diff A.onnx B.onnx`: what differs between two files.
void add_diff_command(CLI::App& application, ExitCode& exit_code);
/// `lemma differentiate MODEL -o TRAIN.onnx`: a step of training as a model.
void add_differentiate_command(CLI::App& application, ExitCode& exit_code);
/// `lemma emit MODEL -o DIR`: a model as source with a static schedule.
void add_emit_command(CLI::App& application, ExitCode& exit_code);
/// `lemma extract EGRAPH.json`: the cheapest selection from an e-graph in the community's format.
void add_extract_command(CLI::App& application, ExitCode& exit_code);
/// `lemma inspect MODEL`: what a model consists of, what it costs, and what Lemma cannot see into.
void add_inspect_command(CLI::App& application, ExitCode& exit_code);
/// `lemma optimize MODEL...`: many models, each in a process of its own.
void add_optimize_command(CLI::App& application, ExitCode& exit_code);
/// `lemma simplify MODEL...`: the same without search and timing.
void add_simplify_command(CLI::App& application, ExitCode& exit_code);
/// The hidden subcommand that the processes of single models run.
void add_optimize_worker_command(CLI::App& application, ExitCode& exit_code);
/// `lemma plan verify`: whether a program over many devices is a single-device model.
void add_plan_command(CLI::App& application, ExitCode& exit_code);
/// `lemma profile MODEL...`: the times of operators in ONNX Runtime, measured and kept.
void add_profile_command(CLI::App& application, ExitCode& exit_code);
/// `lemma run MODEL`: what a model computes, and whether it is what was expected.
void add_run_command(CLI::App& application, ExitCode& exit_code);

/// `lemma schedule MODEL --device FILE`: what a model's schedule takes on a device that is only described.
void add_schedule_command(CLI::App& application, ExitCode& exit_code);

/// `lemma tune MODEL...`: loop schedules of task programs, searched and kept.
void add_tune_command(CLI::App& application, ExitCode& exit_code);

/// `lemma rules verify|list`: proving the shipped rules anew, or deciding those of a file, and what they are; with
/// all that follows here.
void add_rules_command(CLI::App& application, ExitCode& exit_code);
/// `lemma rules build` and `lemma rules minimize`.
void add_rules_build(CLI::App& rules_command, ExitCode& exit_code);
/// `lemma rules generate`.
void add_rules_generate(CLI::App& rules_command, ExitCode& exit_code);
/// `lemma rules import|export`: rules in the formats of others.
void add_rules_exchange(CLI::App& rules_command, ExitCode& exit_code);
/// `lemma rules obligations`: which relations the index prover proves between the sides of rules.
void add_rules_obligations(CLI::App& rules_command, ExitCode& exit_code);
/// `lemma rules diff`: what each of two databases proves that does not follow from the other one.
void add_rules_diff(CLI::App& rules_command, ExitCode& exit_code);
/// `lemma rules regions`: terms that equal an operator in part, and rules that correct them.
void add_rules_regions(CLI::App& rules_command, ExitCode& exit_code);

}  // namespace lemma
