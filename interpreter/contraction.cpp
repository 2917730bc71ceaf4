#include "interpreter/contraction.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "interpreter/interruption.h"
#include "interpreter/matrix_kernel.h"
#include "interpreter/program.h"
#include "interpreter/strip_evaluator.h"
#include "system/parallel.h"

namespace lemma::interpreter {

namespace {

constexpr std::int64_t block_rows = 240;  // of the left factor packed at a time
constexpr std::int64_t block_columns = 256;
constexpr std::int64_t block_depth = 256;
/// Elements of the right factor packed at a time: all of the sum for some columns.
constexpr std::int64_t panel_elements = std::int64_t{1} << 21;

std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return (value + unit - 1) / unit * unit;
}

struct Group {
  std::vector<LoopVariable> variables;
  std::vector<std::int64_t> sizes, strides;  // strides in the output; none for the inner variables
  std::int64_t count = 1;

  /// The value of each variable at a position in row-major order.
  void values(std::int64_t position, std::vector<std::int64_t>& out) const {
    out.resize(sizes.size());
    for (std::size_t i = sizes.size(); i-- > 0;) {
      out[i] = position % sizes[i];
      position /= sizes[i];
    }
  }
  std::int64_t offset(std::int64_t position) const {
    std::int64_t sum = 0;
    for (std::size_t i = sizes.size(); i-- > 0;) {
      sum += position % sizes[i] * strides[i];
      position /= sizes[i];
    }
    return sum;
  }
};

/// Whether the elements of a factor lie closer together along the inner variables than along its
/// own ones: weights, mostly.
bool is_inner_closer(const TermGraph& graph, TermNumber factor, const Group& own,
                     const Group& inner) {
  std::vector<char> reached(graph.size(), 0);
  reached[factor] = 1;
  for (TermNumber id = factor + 1; id-- > 0;) {
    if (reached[id] == 0) continue;
    const Term& term = graph.term(id);
    for (const TermNumber operand : term.operands) reached[operand] = 1;
    if (term.kind != ExpressionKind::read) continue;
    const Linear address = graph.address(term);
    const std::int64_t along_own = std::abs(address.coefficient(own.variables.back()));
    if (along_own != 0 && along_own <= 16) continue;
    std::int64_t dense = 1, step = 1;
    for (std::size_t i = inner.variables.size(); i-- > 0; step *= inner.sizes[i]) {
      if (address.coefficient(inner.variables[i]) != step) break;
      dense *= inner.sizes[i];
    }
    if (along_own != 0 && dense >= 16) return true;
  }
  return false;
}

/// Evaluates one factor into panels of `tile` lanes: element (k, i) of panel p, which holds lanes
/// p * tile .. p * tile + tile - 1, comes to p * depth * tile + k * tile + i. Lanes beyond the last
/// one are 0.
class Packer {
 public:
  Packer(const Program& program, bool along_inner, std::span<const std::byte* const> inputs,
         const Group& own, const Group& inner, std::int64_t tile, bool must_be_finite)
      : evaluator_(program, inputs),
        along_inner_(along_inner),
        own_(own),
        inner_(inner),
        tile_(tile),
        bytes_(lane_size(program.registers[program.result].lanes)),
        must_be_finite_(must_be_finite),
        filled_(program.lane_count * 8) {}

  void set_batch(const Group& batch, std::int64_t position) {
    batch.values(position, values_);
    set_variables(batch);
  }

  /// False if an element is undefined or not finite.
  bool pack(std::int64_t first_lane, std::int64_t lanes, std::int64_t first_k, std::int64_t depth,
            std::byte* out) {
    if (lanes % tile_ != 0)
      std::memset(out + lanes / tile_ * tile_ * depth * bytes(), 0,
                  static_cast<std::size_t>(tile_ * depth * bytes()));
    // Strips run along one of the two groups of variables, and are evaluated for each point of the
    // other one.
    const Group& group = along_inner_ ? own_ : inner_;
    const std::int64_t length = along_inner_ ? depth : lanes;
    evaluator_.set_strip(along_inner_ ? first_k : first_lane, static_cast<std::size_t>(length));
    group.values(along_inner_ ? first_lane : first_k, values_);
    for (std::int64_t i = 0; i < (along_inner_ ? lanes : depth); ++i) {
      set_variables(group);
      advance(group);
      evaluator_.run();
      if (evaluator_.first_undefined()) return false;
      const auto* row = static_cast<const std::byte*>(evaluator_.result());
      if (evaluator_.is_uniform()) {
        fill_lanes(bytes_, row, filled_.data(), static_cast<std::size_t>(length));
        row = filled_.data();
      }
      if (must_be_finite_ && !all_finite(row, length)) return false;
      if (along_inner_)
        place_across(row, i, depth, out);
      else
        place(row, lanes, i, depth, out);
    }
    return true;
  }

 private:
  std::int64_t bytes() const { return static_cast<std::int64_t>(bytes_); }

  void set_variables(const Group& group) {
    for (std::size_t i = 0; i < values_.size(); ++i)
      evaluator_.set_variable(group.variables[i], values_[i]);
  }

  void advance(const Group& group) {
    for (std::size_t i = values_.size(); i-- > 0;) {
      if (++values_[i] < group.sizes[i]) return;
      values_[i] = 0;
    }
  }

  bool all_finite(const std::byte* row, std::int64_t count) const {
    auto check = [&]<typename T>(T sum) {
      const T* values = reinterpret_cast<const T*>(row);
      for (std::int64_t i = 0; i < count; ++i) sum += values[i] * T{0};
      return sum == T{0};
    };
    return bytes_ == 4 ? check(0.0F) : check(0.0);
  }

  /// All lanes of one k.
  void place(const std::byte* row, std::int64_t lanes, std::int64_t k, std::int64_t depth,
             std::byte* out) const {
    for (std::int64_t lane = 0; lane < lanes; lane += tile_)
      std::memcpy(out + (lane * depth + k * tile_) * bytes(), row + lane * bytes(),
                  static_cast<std::size_t>(std::min(tile_, lanes - lane) * bytes()));
  }

  /// All k of one lane.
  void place_across(const std::byte* row, std::int64_t lane, std::int64_t depth,
                    std::byte* out) const {
    out += (lane / tile_ * tile_ * depth + lane % tile_) * bytes();
    auto copy = [&]<typename T>(T) {
      const T* from = reinterpret_cast<const T*>(row);
      T* to = reinterpret_cast<T*>(out);
      for (std::int64_t k = 0; k < depth; ++k) to[k * tile_] = from[k];
    };
    return bytes_ == 4 ? copy(std::uint32_t{}) : copy(std::uint64_t{});
  }

  StripEvaluator evaluator_;
  bool along_inner_;
  const Group& own_;
  const Group& inner_;
  std::int64_t tile_;
  std::size_t bytes_;
  bool must_be_finite_;
  std::vector<std::byte> filled_;
  std::vector<std::int64_t> values_;
};

class ContractionEvaluation {
 public:
  ContractionEvaluation(const TermGraph& graph, const Contraction& contraction,
                        const std::vector<LoopVariable>& axes,
                        std::span<const std::byte* const> inputs, std::byte* out,
                        const EvaluationOptions& options)
      : contraction_(contraction),
        inputs_(inputs),
        out_(out),
        options_(options),
        lanes_(graph.term(contraction.sum).lanes),
        bytes_(static_cast<std::int64_t>(lane_size(lanes_))),
        kernel_(matrix_kernel(lanes_)) {
    std::vector<std::int64_t> strides(axes.size(), 1);
    for (std::size_t i = axes.size(); i-- > 1;) strides[i - 1] = strides[i] * graph.extent(axes[i]);
    auto group_of = [&](const std::vector<LoopVariable>& variables) {
      Group group;
      for (const LoopVariable v : variables) {
        const auto where = std::find(axes.begin(), axes.end(), v);
        group.variables.push_back(v);
        group.sizes.push_back(graph.extent(v));
        group.strides.push_back(
            where == axes.end() ? 0 : strides[static_cast<std::size_t>(where - axes.begin())]);
        group.count *= graph.extent(v);
      }
      return group;
    };
    batch_ = group_of(contraction.batch);
    rows_ = group_of(contraction.rows);
    columns_ = group_of(contraction.columns);
    inner_ = group_of(contraction.inner);
  }

  Result<bool> evaluate(const TermGraph& graph) {
    left_along_inner_ = is_inner_closer(graph, contraction_.left, rows_, inner_);
    right_along_inner_ = is_inner_closer(graph, contraction_.right, columns_, inner_);
    LEMMA_ASSIGN_OR_RETURN(left_,
                           compile(graph, contraction_.left,
                                   {left_along_inner_ ? contraction_.inner : contraction_.rows}));
    LEMMA_ASSIGN_OR_RETURN(
        right_, compile(graph, contraction_.right,
                        {right_along_inner_ ? contraction_.inner : contraction_.columns}));
    choose_columns();
    const std::int64_t tasks = batch_.count * column_blocks_;
    parallel_ranges(tasks, options_.threads, [&](std::int64_t begin, std::int64_t end) {
      Worker worker(*this);
      for (std::int64_t task = begin; task < end && !given_up_.load(); ++task) {
        if (is_interrupted(options_)) {
          interrupted_.store(true);
          given_up_.store(true);
        } else if (!worker.compute(task / column_blocks_, task % column_blocks_)) {
          given_up_.store(true);
        }
      }
    });
    if (interrupted_.load()) return interruption();
    return !given_up_.load();
  }

 private:
  /// Enough blocks for all threads; how the columns are divided does not change a result.
  void choose_columns() {
    const std::int64_t threads = count_of_threads(options_.threads);
    const std::int64_t wanted = std::max<std::int64_t>(1, 2 * threads / batch_.count);
    std::int64_t width =
        std::min(block_columns, panel_elements / std::max<std::int64_t>(1, inner_.count));
    width = std::min(width, (columns_.count + wanted - 1) / wanted);
    width_ = std::max(kernel_.columns, round_up(width, kernel_.columns));
    width_ = std::min(width_, block_columns / kernel_.columns * kernel_.columns);
    column_blocks_ = (columns_.count + width_ - 1) / width_;
    streams_ = width_ * inner_.count > 2 * panel_elements;
  }

  /// What one thread needs.
  class Worker {
   public:
    explicit Worker(const ContractionEvaluation& all)
        : all_(all),
          left_packer_(all.left_, all.left_along_inner_, all.inputs_, all.rows_, all.inner_,
                       all.kernel_.rows, all.contraction_.left_must_be_finite),
          right_packer_(all.right_, all.right_along_inner_, all.inputs_, all.columns_, all.inner_,
                        all.kernel_.columns, all.contraction_.right_must_be_finite),
          left_(new_block(block_rows * std::min(block_depth, all.inner_.count))),
          right_(new_block(all.width_ * (all.streams_ ? std::min(block_depth, all.inner_.count)
                                                      : all.inner_.count))),
          total_(new_block(block_rows * all.width_)) {}

    bool compute(std::int64_t batch, std::int64_t column_block) {
      const std::int64_t first_column = column_block * all_.width_;
      const std::int64_t columns = std::min(all_.width_, all_.columns_.count - first_column);
      left_packer_.set_batch(all_.batch_, batch);
      right_packer_.set_batch(all_.batch_, batch);
      first_column_ = first_column;
      // The panels of a depth block follow one another, so that a block is one piece of memory.
      for (std::int64_t k = 0; k < all_.inner_.count && !all_.streams_; k += block_depth)
        if (!pack_right(columns, k, right_.get() + k * all_.width_ * all_.bytes_)) return false;
      find_runs(first_column, columns);
      for (std::int64_t row = 0; row < all_.rows_.count; row += block_rows) {
        const std::int64_t rows = std::min(block_rows, all_.rows_.count - row);
        if (!multiply(row, rows, columns)) return false;
        store(all_.batch_.offset(batch), row, rows);
      }
      return true;
    }

   private:
    std::unique_ptr<std::byte[]> new_block(std::int64_t elements) const {
      return std::unique_ptr<std::byte[]>(new std::byte[static_cast<std::size_t>(
          std::max<std::int64_t>(elements, 1) * all_.bytes_)]);
    }

    bool pack_right(std::int64_t columns, std::int64_t k, std::byte* to) {
      return right_packer_.pack(first_column_, columns, k,
                                std::min(block_depth, all_.inner_.count - k), to);
    }

    bool multiply(std::int64_t first_row, std::int64_t rows, std::int64_t columns) {
      const MatrixKernel& kernel = all_.kernel_;
      const std::int64_t bytes = all_.bytes_, width = all_.width_;
      std::memset(total_.get(), 0,
                  static_cast<std::size_t>(round_up(rows, kernel.rows) * width * bytes));
      bool ok = true;
      for (std::int64_t k = 0; k < all_.inner_.count; k += block_depth) {
        const std::int64_t depth = std::min(block_depth, all_.inner_.count - k);
        if (!left_packer_.pack(first_row, rows, k, depth, left_.get())) return false;
        if (all_.streams_ && !pack_right(columns, k, right_.get())) return false;
        const std::byte* right = right_.get() + (all_.streams_ ? 0 : k * width * bytes);
        for (std::int64_t j = 0; j < columns; j += kernel.columns)
          for (std::int64_t i = 0; i < rows; i += kernel.rows)
            ok = kernel.multiply(depth, left_.get() + i * depth * bytes, right + j * depth * bytes,
                                 total_.get() + (i * width + j) * bytes, width) &&
                 ok;
      }
      return ok;
    }

    /// Columns that are neighbors in the output are copied together.
    void find_runs(std::int64_t first_column, std::int64_t columns) {
      runs_.clear();
      for (std::int64_t j = 0; j < columns; ++j) {
        const std::int64_t offset = all_.columns_.offset(first_column + j);
        if (!runs_.empty() && runs_.back().offset + runs_.back().count == offset)
          ++runs_.back().count;
        else
          runs_.push_back({j, offset, 1});
      }
    }

    void store(std::int64_t batch_offset, std::int64_t first_row, std::int64_t rows) {
      for (std::int64_t i = 0; i < rows; ++i) {
        const std::int64_t offset = batch_offset + all_.rows_.offset(first_row + i);
        for (const Run& run : runs_)
          std::memcpy(all_.out_ + (offset + run.offset) * all_.bytes_,
                      total_.get() + (i * all_.width_ + run.column) * all_.bytes_,
                      static_cast<std::size_t>(run.count * all_.bytes_));
      }
    }

    struct Run {
      std::int64_t column, offset, count;
    };
    const ContractionEvaluation& all_;
    Packer left_packer_, right_packer_;
    std::unique_ptr<std::byte[]> left_, right_, total_;
    std::vector<Run> runs_;
    std::int64_t first_column_ = 0;
  };

  const Contraction& contraction_;
  std::span<const std::byte* const> inputs_;
  std::byte* out_;
  const EvaluationOptions& options_;
  LaneKind lanes_;
  std::int64_t bytes_;
  MatrixKernel kernel_;
  Group batch_, rows_, columns_, inner_;
  Program left_, right_;
  bool left_along_inner_ = false, right_along_inner_ = false;
  std::int64_t width_ = 0, column_blocks_ = 0;
  bool streams_ = false;  // the sum is too long to keep the right factor packed
  std::atomic<bool> given_up_ = false, interrupted_ = false;
};

}  // namespace

Result<bool> evaluate_contraction(const TermGraph& graph, const Contraction& contraction,
                                  const std::vector<LoopVariable>& axes,
                                  std::span<const std::byte* const> inputs, std::byte* out,
                                  const EvaluationOptions& options) {
  return ContractionEvaluation(graph, contraction, axes, inputs, out, options).evaluate(graph);
}

}  // namespace lemma::interpreter
