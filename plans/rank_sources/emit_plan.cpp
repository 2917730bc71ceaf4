#include "plans/rank_sources/emit_plan.h"

#include <map>
#include <optional>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backend/emit/emit_program.h"
#include "base/shown_text.h"
#include "ir/data_type.h"
#include "outputs/files.h"
#include "plans/rank_sources/parts.h"
#include "plans/rank_sources/rank_sources.h"
#include "plans/rank_sources/stage_sources.h"

namespace lemma::plans {

namespace {

namespace fs = std::filesystem;
using interpreter::Tensor;

constexpr std::size_t weight_alignment = 64;

/// The options of the compiler are those of task programs (backend/emit/parts/README.md.in).
constexpr std::string_view makefile_head =
    "# make -j, then mpirun -n RANKS ./run\n"
    "MPICXX ?= mpicxx\n"
    "FLAGS = -std=c++20 -O3 -ffp-contract=off -fno-trapping-math -fno-math-errno \\\n"
    "  -fno-thread-jumps -fno-split-paths -fno-tree-loop-distribute-patterns -march=native "
    "-pthread\n";

std::string rank_program_name(std::size_t number) { return fmt::format("rank_program_{}", number); }

/// Weights of the single-device model, whole, in one file.
class WeightFile {
 public:
  explicit WeightFile(const Graph& single) : single_(single) {}

  std::size_t offset_of(ValueId value) {
    const auto [known, is_new] = offsets_.emplace(value, end_);
    if (is_new) {
      tensors_.push_back(Tensor::of(*single_.constant_of(value)));
      end_ += (tensors_.back().bytes().size() + weight_alignment - 1) / weight_alignment *
              weight_alignment;
    }
    return known->second;
  }

  Result<void> write(const fs::path& file) const {
    LEMMA_ASSIGN_OR_RETURN(OutputFile out, OutputFile::create(file));
    for (const Tensor& tensor : tensors_) {
      LEMMA_RETURN_IF_ERROR(out.write(tensor.bytes()));
      LEMMA_RETURN_IF_ERROR(
          out.pad_to((out.written() + weight_alignment - 1) / weight_alignment * weight_alignment));
    }
    LEMMA_RETURN_IF_ERROR(out.finish());
    return out.publish();
  }

 private:
  const Graph& single_;
  std::map<ValueId, std::size_t> offsets_;
  std::vector<Tensor> tensors_;
  std::size_t end_ = 0;
};

/// Makes the sources of all ranks, and writes them.
class Emission {
 public:
  Emission(const Graph& single, const PlanEmissionRequest& request)
      : single_(single), request_(request), weights_(single) {}

  Result<void> add(RankSources sources) {
    const auto [known, is_new] = programs_.emplace(sources.statements, statements_.size());
    if (is_new) statements_.push_back(sources.statements);
    LEMMA_ASSIGN_OR_RETURN(std::string data, data_text(sources, known->second));
    data_.push_back(std::move(data));
    return {};
  }

  StageSources& stages() { return stages_; }

  Result<PlanEmission> write() const {
    LEMMA_ASSIGN_OR_RETURN(const std::vector<Tensor> expected,
                           interpreter::run(single_, request_.inputs));
    backend::WrittenFiles others = {
        {"weights.bin", [&](const fs::path& file) { return weights_.write(file); }}};
    for (std::size_t i = 0; i < request_.inputs.size(); ++i)
      others.emplace_back(fmt::format("input_{}.bin", i), [this, i](const fs::path& file) {
        return write_tensor(request_.inputs[i].value, file);
      });
    for (std::size_t i = 0; i < expected.size(); ++i)
      others.emplace_back(fmt::format("expected_{}.bin", i), [&expected, i](const fs::path& file) {
        return write_tensor(expected[i], file);
      });
    Result<void> written;
    LEMMA_RETURN_IF_ERROR(backend::write_program_directory(
        texts(), others, request_.directory, request_.replaces,
        [&](const fs::path& folder) { written = stages_.write(folder); }));
    LEMMA_RETURN_IF_ERROR(written);
    return PlanEmission{data_.size(), statements_.size(), stages_.all().size()};
  }

 private:
  static Result<void> write_tensor(const Tensor& tensor, const fs::path& file) {
    LEMMA_ASSIGN_OR_RETURN(OutputFile out, OutputFile::create(file));
    LEMMA_RETURN_IF_ERROR(out.write(tensor.bytes()));
    LEMMA_RETURN_IF_ERROR(out.finish());
    return out.publish();
  }

  /// "{{8, 16}, {0, 0}, {4, 16}, 4}".
  std::string block_text(ValueId value, const Window& window) const {
    const TensorType& type = single_.type(value);
    const std::vector<std::int64_t> sizes = *constant_sizes(*type.shape);
    std::vector<std::int64_t> begin(sizes.size(), 0), extent = sizes;
    for (std::size_t axis = 0; axis < window.size(); ++axis) {
      begin[axis] = window[axis].begin;
      extent[axis] = window[axis].size;
    }
    return fmt::format("{{{{{}}}, {{{}}}, {{{}}}, {}}}", fmt::join(sizes, ", "),
                       fmt::join(begin, ", "), fmt::join(extent, ", "), byte_size(type.data_type));
  }

  Result<std::string> data_text(const RankSources& sources, std::size_t program) {
    std::string weights, inputs, outputs;
    for (const auto& [block, value] : sources.sources) {
      const Node& node = single_.node(single_.producer(value));
      const std::string where = block_text(value, block.window);
      if (node.kind == NodeKind::constant) {
        weights += fmt::format("          {{{}, \"weights.bin\", {}, {}}},\n", block.slot,
                               weights_.offset_of(value), where);
        continue;
      }
      std::size_t number = 0;
      while (single_.node(single_.inputs()[number]).output() != value) ++number;
      inputs +=
          fmt::format("          {{{}, \"input_{}.bin\", 0, {}}},\n", block.slot, number, where);
    }
    for (const auto& [block, name] : sources.outputs)
      for (std::size_t i = 0; i < single_.outputs().size(); ++i) {
        const GraphOutput& output = single_.outputs()[i];
        if (output.name != name) continue;
        const DataType type = single_.type(output.value).data_type;
        if (is_real(type) && type != DataType::f32 && type != DataType::f64)
          return unsupported(
              fmt::format("output '{}' of the type {}: the program compares f32 and "
                          "f64 only",
                          name, lemma::text(single_.type(output.value))));
        outputs += fmt::format("          {{{}, {}, {}, {}}},\n", block.slot, i, is_real(type),
                               block_text(output.value, block.window));
      }
    std::string groups;
    for (const auto& group : sources.groups)
      groups += fmt::format("{}{{{}}}", groups.empty() ? "" : ", ", fmt::join(group, ", "));
    return fmt::format(
        "{{{},\n         {{{}}},\n         {{{}}},\n         {{\n{}         }},\n         {{\n{}  "
        "       }},\n         {{\n{}         }}}}",
        rank_program_name(program), fmt::join(sources.slot_bytes, ", "), groups, weights, inputs,
        outputs);
  }

  std::string plan_header() const {
    return fmt::format(
        "#pragma once\n\n#include \"rank_run_time.h\"\n\nnamespace plan {{\n\n"
        "constexpr int rank_count = {}, output_count = {};\n"
        "ranks::RankData data_of(int rank);\n\n}}  // namespace plan\n",
        data_.size(), single_.outputs().size());
  }

  std::string plan_source() const {
    std::string text = "#include \"plan.h\"\n\n";
    for (std::size_t i = 0; i < statements_.size(); ++i)
      text +=
          fmt::format("void {}(ranks::Rank& rank, const std::vector<std::vector<int>>& groups);\n",
                      rank_program_name(i));
    text += "\nranks::RankData plan::data_of(int rank) {\n  switch (rank) {\n";
    for (std::size_t rank = 0; rank < data_.size(); ++rank)
      text += fmt::format("    case {}:\n      return\n        {};\n", rank, data_[rank]);
    return text + "    default: ranks::fail(\"there is no such rank\");\n  }\n}\n";
  }

  static std::string rank_program_source(std::size_t number, const std::string& statements) {
    return fmt::format(
        "#include \"stages.h\"\n\nvoid {}(ranks::Rank& rank,\n    [[maybe_unused]] const "
        "std::vector<std::vector<int>>& groups) {{\n{}}}\n",
        rank_program_name(number), statements);
  }

  std::string stages_header() const {
    std::string text = "#pragma once\n\n#include \"rank_run_time.h\"\n\n";
    for (std::size_t i = 0; i < stages_.all().size(); ++i)
      text += fmt::format("extern const ranks::Stage {};\n", StageSources::name(i));
    return text;
  }

  /// The functions of each program, behind those that know its type.
  std::string stages_source() const {
    std::string text = "#include \"stages.h\"\n\n";
    for (std::size_t i = 0; i < stages_.all().size(); ++i)
      text += fmt::format("#include \"{0}/{0}.h\"\n", StageSources::name(i));
    text +=
        "\n#define STAGE(name)                                                            \\\n"
        "  const ranks::Stage name = {                                                   \\\n"
        "      #name \"/weights.bin\",                                                     \\\n"
        "      [](const char* weights, void** program) {                                 \\\n"
        "        return name##_create(weights, reinterpret_cast<name##_program**>(program)); \\\n"
        "      },                                                                        \\\n"
        "      [](void* program, const void* const* inputs, const std::size_t* input_bytes, \\\n"
        "         std::size_t input_count, void* const* outputs, const std::size_t* output_bytes, "
        "\\\n"
        "         std::size_t output_count) {                                            \\\n"
        "        return name##_run(static_cast<name##_program*>(program), inputs, input_bytes, \\\n"
        "                          input_count, outputs, output_bytes, output_count);    \\\n"
        "      },                                                                        \\\n"
        "      name##_message}\n\n";
    for (std::size_t i = 0; i < stages_.all().size(); ++i)
      text += fmt::format("STAGE({});\n", StageSources::name(i));
    return text;
  }

  std::string makefile() const {
    std::string text(makefile_head), objects = "main.o plan.o stages.o", rules;
    for (std::size_t i = 0; i < statements_.size(); ++i)
      objects += fmt::format(" {}.o", rank_program_name(i));
    for (std::size_t i = 0; i < stages_.all().size(); ++i) {
      const std::string name = StageSources::name(i);
      objects += fmt::format(" {}.o", name);
      rules += fmt::format("{0}.o: {0}/{0}.cpp\n\t$(MPICXX) $(FLAGS) -c -o $@ $<\n", name);
    }
    return text +
           fmt::format(
               "OBJECTS = {}\n\nrun: $(OBJECTS)\n\t$(MPICXX) -pthread -o $@ "
               "$(OBJECTS)\n%.o: %.cpp\n\t$(MPICXX) $(FLAGS) -c -o $@ $<\n{}",
               objects, rules) +
           "clean:\n\trm -f run $(OBJECTS)\n.PHONY: clean\n";
  }

  std::string readme() const {
    std::string inputs, outputs;
    for (std::size_t i = 0; i < single_.inputs().size(); ++i) {
      const Node& node = single_.node(single_.inputs()[i]);
      inputs += fmt::format("- `input_{}.bin`: `{}`, `{}`\n", i,
                            shown(single_.input_name(node), ShownIn::markdown),
                            lemma::text(single_.type(node.output())));
    }
    for (std::size_t i = 0; i < single_.outputs().size(); ++i)
      outputs += fmt::format("- `output_{}.bin`: `{}`, `{}`\n", i,
                             shown(single_.outputs()[i].name, ShownIn::markdown),
                             lemma::text(single_.type(single_.outputs()[i].value)));
    return fmt::format(
        "# {}\n\nA plan for {} ranks as C++ source. It needs a C++20 compiler, MPI and threads, "
        "and "
        "nothing else.\n\n```\nmake -j && mpirun -n {} ./run\n```\n\n"
        "It computes the recorded inputs, compares the outputs with those of one device, and says "
        "how long the slowest\nrank took. `--inputs FOLDER` reads other inputs, `--outputs FOLDER` "
        "writes the outputs, `--repeat N` runs it N\ntimes and says the least time. Tensors are "
        "whole, in row-major order, in a file each; each rank reads and writes\nits parts.\n\n"
        "| file | |\n|------|-|\n"
        "| `rank_program_0.cpp`, ... | what a rank does; ranks that do the same share one |\n"
        "| `stage_0/`, ... | task programs, what a rank computes between two exchanges; equal ones "
        "are there once |\n"
        "| `plan.cpp` | for each rank its program, groups, and parts of inputs, weights and "
        "outputs "
        "|\n"
        "| `rank_run_time.h` | exchanges over MPI |\n"
        "| `weights.bin`, `expected_0.bin`, ... | weights of the model, and outputs of one device "
        "|\n\nInputs:\n\n{}\nOutputs:\n\n{}",
        shown(shown(request_.title, ShownIn::comment), ShownIn::markdown), data_.size(),
        data_.size(), inputs, outputs);
  }

  backend::ProgramFiles texts() const {
    backend::ProgramFiles files = {{"Makefile", makefile()},
                                   {"README.md", readme()},
                                   {"main.cpp", std::string(parts::main_source)},
                                   {"plan.cpp", plan_source()},
                                   {"plan.h", plan_header()},
                                   {"rank_run_time.h", std::string(parts::rank_run_time)},
                                   {"stages.cpp", stages_source()},
                                   {"stages.h", stages_header()}};
    for (std::size_t i = 0; i < statements_.size(); ++i)
      files.emplace_back(rank_program_name(i) + ".cpp", rank_program_source(i, statements_[i]));
    return files;
  }

  const Graph& single_;
  const PlanEmissionRequest& request_;
  StageSources stages_;
  WeightFile weights_;
  std::map<std::string, std::size_t> programs_;  // by statements
  std::vector<std::string> statements_;          // by program
  std::vector<std::string> data_;                // by rank
};

template <typename AnyProgram>
Result<PlanEmission> emitted(const Graph& single, const AnyProgram& program, std::size_t ranks,
                             const PlanEmissionRequest& request) {
  LEMMA_RETURN_IF_ERROR(backend::check_program_directory(request.directory, request.replaces));
  Emission emission(single, request);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    LEMMA_ASSIGN_OR_RETURN(RankSources sources,
                           rank_sources(single, program, rank, emission.stages()));
    LEMMA_RETURN_IF_ERROR(emission.add(std::move(sources)));
  }
  return emission.write();
}

}  // namespace

Result<PlanEmission> emit_plan(const Graph& single, const Program& program,
                               const PlanEmissionRequest& request) {
  return emitted(single, program, static_cast<std::size_t>(program.mesh.device_count()), request);
}

Result<PlanEmission> emit_plan(const Graph& single, const RankedProgram& program,
                               const PlanEmissionRequest& request) {
  return emitted(single, program, program.rank_count(), request);
}

}  // namespace lemma::plans
