#pragma once
// Sliding windows of convolutions and pools: sizes, indices, guards, automatic padding.

#include <vector>

#include "operators/sizes.h"

namespace lemma::operators {

/// One spatial axis of an operator with attributes strides, pads and dilations.
struct WindowAxis {
  Dimension size;  // of the input
  Dimension kernel;
  Dimension stride, dilation;
  Dimension pad_begin, pad_end;

  /// Input positions that one window spans.
  Dimension span() const { return dilation * (kernel - 1) + 1; }
};

/// The attributes of a window operator with defaults (strides and dilations 1, pads 0) filled in
/// for `spatial` axes, and their lengths checked.
Result<Attributes> complete_window(const Instance& instance, std::size_t spatial);
/// Demands that strides and dilations are positive.
Result<void> require_windows(const Instance& instance);

/// The spatial axes of input 0, which follow batch and channels.
std::vector<WindowAxis> window_axes(const Instance& instance, const Shape& kernel);

/// How many windows fit; with `ceil_mode` also a last one that runs over the end, if it starts
/// inside the input or the padding before it.
Result<Dimension> window_count(const Instance& instance, const WindowAxis& axis, bool ceil_mode);

/// Input position of element `k` of window `o`; it may lie in the padding.
Expression window_position(DefinitionBuilder& builder, const WindowAxis& axis, Expression o,
                           Expression k);

/// Whether an input position is not padding; constant true where that cannot happen.
Expression inside(DefinitionBuilder& builder, const WindowAxis& axis, Expression position,
                  bool ceil_mode);

/// Replaces the ONNX attribute auto_pad by explicit pads.
Result<void> resolve_auto_pad(const OnnxCall& call, const Shape& kernel, ImportedCall& imported);

}  // namespace lemma::operators
