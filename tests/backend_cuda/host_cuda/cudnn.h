#pragma once
// Convolutions and pools of cuDNN on a processor, as plain loops, for tests only: what emitted programs call, no more.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "host_elements.h"

enum cudnnStatus_t {
  CUDNN_STATUS_SUCCESS = 0,
  CUDNN_STATUS_BAD_PARAM = 2000,
  CUDNN_STATUS_NOT_SUPPORTED = 3000
};
enum cudnnDataType_t { CUDNN_DATA_FLOAT = 0, CUDNN_DATA_HALF = 2, CUDNN_DATA_BFLOAT16 = 9 };
enum cudnnTensorFormat_t { CUDNN_TENSOR_NCHW };
enum cudnnConvolutionMode_t { CUDNN_CONVOLUTION, CUDNN_CROSS_CORRELATION };
enum cudnnMathType_t { CUDNN_DEFAULT_MATH, CUDNN_TENSOR_OP_MATH, CUDNN_FMA_MATH = 3 };
enum cudnnNanPropagation_t { CUDNN_NOT_PROPAGATE_NAN, CUDNN_PROPAGATE_NAN };
enum cudnnActivationMode_t { CUDNN_ACTIVATION_RELU = 1, CUDNN_ACTIVATION_IDENTITY = 5 };
enum cudnnPoolingMode_t {
  CUDNN_POOLING_MAX,
  CUDNN_POOLING_AVERAGE_COUNT_INCLUDE_PADDING,
  CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING
};
enum cudnnConvolutionFwdAlgo_t {
  CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM,
  CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM,
  CUDNN_CONVOLUTION_FWD_ALGO_COUNT = 8
};

namespace host_cuda {

struct WindowHandle {};
struct TensorSizes {
  cudnnDataType_t type = CUDNN_DATA_FLOAT;
  std::vector<int> sizes;

  std::int64_t elements(std::size_t from = 0) const {
    std::int64_t count = 1;
    for (std::size_t i = from; i < sizes.size(); ++i) count *= sizes[i];
    return count;
  }
};
struct WindowShape {
  std::vector<int> pads, strides, dilations, windows;
  int groups = 1;
  cudnnPoolingMode_t mode = CUDNN_POOLING_MAX;
};
struct ActivationKind {
  cudnnActivationMode_t mode = CUDNN_ACTIVATION_IDENTITY;
};

inline Element element_of(cudnnDataType_t type) {
  return type == CUDNN_DATA_HALF       ? Element::f16
         : type == CUDNN_DATA_BFLOAT16 ? Element::bf16
                                       : Element::f32;
}

/// Calls `visit(place in the window, element of the input's plane)` for each place that lies inside of the input; `position`
/// is the element of the output's plane.
template <typename Visit>
void visit_window(const WindowShape& shape, const std::vector<int>& input,
                  const std::vector<int>& output, const std::vector<int>& window,
                  std::int64_t position, const Visit& visit) {
  const std::size_t axes = window.size();
  std::vector<std::int64_t> begin(axes);
  for (std::size_t i = axes; i-- > 0; position /= output[2 + i])
    begin[i] = position % output[2 + i] * shape.strides[i] - shape.pads[i];
  std::int64_t count = 1;
  for (const int size : window) count *= size;
  for (std::int64_t place = 0; place < count; ++place) {
    std::int64_t rest = place, element = 0, scale = 1;
    bool is_inside = true;
    for (std::size_t i = axes; i-- > 0; rest /= window[i]) {
      const std::int64_t at = begin[i] + rest % window[i] * shape.dilations[i];
      is_inside = is_inside && 0 <= at && at < input[2 + i];
      element += at * scale;
      scale *= input[2 + i];
    }
    if (is_inside) visit(place, element);
  }
}

struct ConvolutionCall {
  WindowShape shape;
  TensorSizes x, w, y;
  const void *data = nullptr, *weight = nullptr, *bias = nullptr;
  void* result = nullptr;
  bool has_relu = false;

  void run() const {
    const Element type = element_of(y.type);
    const std::int64_t plane = y.elements(2), of_input = x.elements(2), of_window = w.elements(2);
    const std::vector<int> window(w.sizes.begin() + 2, w.sizes.end());
    const int channels = w.sizes[1], per_group = y.sizes[1] / shape.groups;
    for (int n = 0; n < y.sizes[0]; ++n)
      for (int o = 0; o < y.sizes[1]; ++o)
        for (std::int64_t position = 0; position < plane; ++position) {
          float sum = 0;
          for (int c = 0; c < channels; ++c) {
            const std::int64_t from =
                (std::int64_t{n} * x.sizes[1] + o / per_group * channels + c) * of_input;
            const std::int64_t with = (std::int64_t{o} * channels + c) * of_window;
            visit_window(shape, x.sizes, y.sizes, window, position,
                         [&](std::int64_t place, std::int64_t element) {
                           sum += load_element(data, from + element, type) *
                                  load_element(weight, with + place, type);
                         });
          }
          if (bias != nullptr) sum += load_element(bias, o, type);
          if (has_relu && sum < 0) sum = 0;
          store_element(result, (std::int64_t{n} * y.sizes[1] + o) * plane + position, sum, type);
        }
  }
};

struct PoolCall {
  WindowShape shape;
  TensorSizes x, y;
  const void* data = nullptr;
  void* result = nullptr;

  void run() const {
    const Element type = element_of(y.type);
    const std::int64_t plane = y.elements(2), of_input = x.elements(2);
    float count = 1;
    for (const int size : shape.windows) count *= static_cast<float>(size);
    for (std::int64_t outer = 0; outer < std::int64_t{y.sizes[0]} * y.sizes[1]; ++outer)
      for (std::int64_t position = 0; position < plane; ++position) {
        float sum = 0, maximum = -std::numeric_limits<float>::infinity();
        visit_window(shape, x.sizes, y.sizes, shape.windows, position,
                     [&](std::int64_t, std::int64_t element) {
                       const float value = load_element(data, outer * of_input + element, type);
                       sum += value;
                       if (!(value <= maximum)) maximum = value;
                     });
        store_element(result, outer * plane + position,
                      shape.mode == CUDNN_POOLING_MAX ? maximum : sum / count, type);
      }
  }
};

template <typename T>
cudnnStatus_t make(T** made) {
  *made = new T;
  return CUDNN_STATUS_SUCCESS;
}
template <typename T>
cudnnStatus_t destroy(T* one) {
  delete one;
  return CUDNN_STATUS_SUCCESS;
}

inline constexpr std::size_t convolution_workspace_bytes = 384;

}  // namespace host_cuda

using cudnnHandle_t = host_cuda::WindowHandle*;
using cudnnTensorDescriptor_t = host_cuda::TensorSizes*;
struct cudnnFilterStruct : host_cuda::TensorSizes {};
using cudnnFilterDescriptor_t = cudnnFilterStruct*;
struct cudnnConvolutionStruct : host_cuda::WindowShape {};
using cudnnConvolutionDescriptor_t = cudnnConvolutionStruct*;
struct cudnnPoolingStruct : host_cuda::WindowShape {};
using cudnnPoolingDescriptor_t = cudnnPoolingStruct*;
using cudnnActivationDescriptor_t = host_cuda::ActivationKind*;
struct cudnnConvolutionFwdAlgoPerf_t {
  cudnnConvolutionFwdAlgo_t algo;
  cudnnStatus_t status;
  float time;
  std::size_t memory;
};

inline const char* cudnnGetErrorString(cudnnStatus_t status) {
  return status == CUDNN_STATUS_SUCCESS ? "no error" : "the call is not supported";
}
inline cudnnStatus_t cudnnCreate(cudnnHandle_t* made) { return host_cuda::make(made); }
inline cudnnStatus_t cudnnDestroy(cudnnHandle_t one) { return host_cuda::destroy(one); }
inline cudnnStatus_t cudnnSetStream(cudnnHandle_t, cudaStream_t) { return CUDNN_STATUS_SUCCESS; }
inline cudnnStatus_t cudnnCreateTensorDescriptor(cudnnTensorDescriptor_t* made) {
  return host_cuda::make(made);
}
inline cudnnStatus_t cudnnDestroyTensorDescriptor(cudnnTensorDescriptor_t one) {
  return host_cuda::destroy(one);
}
inline cudnnStatus_t cudnnCreateFilterDescriptor(cudnnFilterDescriptor_t* made) {
  return host_cuda::make(made);
}
inline cudnnStatus_t cudnnDestroyFilterDescriptor(cudnnFilterDescriptor_t one) {
  return host_cuda::destroy(one);
}
inline cudnnStatus_t cudnnCreateConvolutionDescriptor(cudnnConvolutionDescriptor_t* made) {
  return host_cuda::make(made);
}
inline cudnnStatus_t cudnnDestroyConvolutionDescriptor(cudnnConvolutionDescriptor_t one) {
  return host_cuda::destroy(one);
}
inline cudnnStatus_t cudnnCreatePoolingDescriptor(cudnnPoolingDescriptor_t* made) {
  return host_cuda::make(made);
}
inline cudnnStatus_t cudnnDestroyPoolingDescriptor(cudnnPoolingDescriptor_t one) {
  return host_cuda::destroy(one);
}
inline cudnnStatus_t cudnnCreateActivationDescriptor(cudnnActivationDescriptor_t* made) {
  return host_cuda::make(made);
}
inline cudnnStatus_t cudnnDestroyActivationDescriptor(cudnnActivationDescriptor_t one) {
  return host_cuda::destroy(one);
}

/// Tensors in row-major order only.
inline cudnnStatus_t cudnnSetTensorNdDescriptor(cudnnTensorDescriptor_t one, cudnnDataType_t type,
                                                int axes, const int* sizes, const int* strides) {
  one->type = type;
  one->sizes.assign(sizes, sizes + axes);
  for (int i = 0; i < axes; ++i)
    if (strides[i] != one->elements(static_cast<std::size_t>(i) + 1)) return CUDNN_STATUS_BAD_PARAM;
  return axes < 4 ? CUDNN_STATUS_BAD_PARAM : CUDNN_STATUS_SUCCESS;
}
inline cudnnStatus_t cudnnSetFilterNdDescriptor(cudnnFilterDescriptor_t one, cudnnDataType_t type,
                                                cudnnTensorFormat_t, int axes, const int* sizes) {
  one->type = type;
  one->sizes.assign(sizes, sizes + axes);
  return axes < 4 ? CUDNN_STATUS_BAD_PARAM : CUDNN_STATUS_SUCCESS;
}
inline cudnnStatus_t cudnnSetConvolutionNdDescriptor(cudnnConvolutionDescriptor_t one, int axes,
                                                     const int* pads, const int* strides,
                                                     const int* dilations,
                                                     cudnnConvolutionMode_t mode, cudnnDataType_t) {
  one->pads.assign(pads, pads + axes);
  one->strides.assign(strides, strides + axes);
  one->dilations.assign(dilations, dilations + axes);
  return mode == CUDNN_CROSS_CORRELATION ? CUDNN_STATUS_SUCCESS : CUDNN_STATUS_NOT_SUPPORTED;
}
inline cudnnStatus_t cudnnSetConvolutionGroupCount(cudnnConvolutionDescriptor_t one, int groups) {
  one->groups = groups;
  return CUDNN_STATUS_SUCCESS;
}
inline cudnnStatus_t cudnnSetConvolutionMathType(cudnnConvolutionDescriptor_t, cudnnMathType_t) {
  return CUDNN_STATUS_SUCCESS;
}
inline cudnnStatus_t cudnnSetPoolingNdDescriptor(cudnnPoolingDescriptor_t one,
                                                 cudnnPoolingMode_t mode, cudnnNanPropagation_t,
                                                 int axes, const int* windows, const int* pads,
                                                 const int* strides) {
  one->mode = mode;
  one->windows.assign(windows, windows + axes);
  one->pads.assign(pads, pads + axes);
  one->strides.assign(strides, strides + axes);
  one->dilations.assign(static_cast<std::size_t>(axes), 1);
  for (int i = 0; i < axes; ++i)
    if (pads[i] >= windows[i]) return CUDNN_STATUS_BAD_PARAM;
  return CUDNN_STATUS_SUCCESS;
}
inline cudnnStatus_t cudnnSetActivationDescriptor(cudnnActivationDescriptor_t one,
                                                  cudnnActivationMode_t mode, cudnnNanPropagation_t,
                                                  double) {
  one->mode = mode;
  return CUDNN_STATUS_SUCCESS;
}

/// The first one that is named cannot be taken.
inline cudnnStatus_t cudnnGetConvolutionForwardAlgorithm_v7(
    cudnnHandle_t, cudnnTensorDescriptor_t, cudnnFilterDescriptor_t, cudnnConvolutionDescriptor_t,
    cudnnTensorDescriptor_t, int, int* count, cudnnConvolutionFwdAlgoPerf_t* found) {
  *count = 2;
  found[0] = {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM, CUDNN_STATUS_NOT_SUPPORTED, 0, 0};
  found[1] = {CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM, CUDNN_STATUS_SUCCESS, 0,
              host_cuda::convolution_workspace_bytes};
  return CUDNN_STATUS_SUCCESS;
}
inline cudnnStatus_t cudnnGetConvolutionForwardWorkspaceSize(
    cudnnHandle_t, cudnnTensorDescriptor_t x, cudnnFilterDescriptor_t w,
    cudnnConvolutionDescriptor_t convolution, cudnnTensorDescriptor_t y, cudnnConvolutionFwdAlgo_t,
    std::size_t* bytes) {
  *bytes = host_cuda::convolution_workspace_bytes;
  const bool fits = x->sizes[1] == w->sizes[1] * convolution->groups && w->sizes[0] == y->sizes[1];
  if (!fits) return CUDNN_STATUS_BAD_PARAM;
  for (std::size_t i = 0; i + 2 < x->sizes.size(); ++i) {
    const int span = convolution->dilations[i] * (w->sizes[2 + i] - 1) + 1;
    if ((x->sizes[2 + i] + 2 * convolution->pads[i] - span) / convolution->strides[i] + 1 !=
        y->sizes[2 + i])
      return CUDNN_STATUS_BAD_PARAM;
  }
  return CUDNN_STATUS_SUCCESS;
}

inline cudnnStatus_t cudnnConvolutionForward(cudnnHandle_t, const void*,
                                             cudnnTensorDescriptor_t of_x, const void* x,
                                             cudnnFilterDescriptor_t of_w, const void* w,
                                             cudnnConvolutionDescriptor_t convolution,
                                             cudnnConvolutionFwdAlgo_t, void* workspace,
                                             std::size_t workspace_bytes, const void*,
                                             cudnnTensorDescriptor_t of_y, void* y) {
  if (workspace_bytes < host_cuda::convolution_workspace_bytes ||
      !host_cuda::is_allocated(workspace, workspace_bytes))
    return CUDNN_STATUS_BAD_PARAM;
  const host_cuda::ConvolutionCall call{*convolution, *of_x, *of_w, *of_y, x, w, nullptr, y, false};
  host_cuda::enqueue([=] {
    host_cuda::spoil(workspace, host_cuda::convolution_workspace_bytes);
    call.run();
  });
  return CUDNN_STATUS_SUCCESS;
}
inline cudnnStatus_t cudnnConvolutionBiasActivationForward(
    cudnnHandle_t, const void*, cudnnTensorDescriptor_t of_x, const void* x,
    cudnnFilterDescriptor_t of_w, const void* w, cudnnConvolutionDescriptor_t convolution,
    cudnnConvolutionFwdAlgo_t algorithm, void* workspace, std::size_t workspace_bytes, const void*,
    cudnnTensorDescriptor_t, const void*, cudnnTensorDescriptor_t, const void* bias,
    cudnnActivationDescriptor_t activation, cudnnTensorDescriptor_t of_y, void* y) {
  const bool has_relu = activation->mode == CUDNN_ACTIVATION_RELU;
  if (workspace_bytes < host_cuda::convolution_workspace_bytes ||
      !host_cuda::is_allocated(workspace, workspace_bytes))
    return CUDNN_STATUS_BAD_PARAM;
  if (!has_relu && algorithm != CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM)
    return CUDNN_STATUS_NOT_SUPPORTED;
  const host_cuda::ConvolutionCall call{*convolution, *of_x, *of_w, *of_y, x, w, bias, y, has_relu};
  host_cuda::enqueue([=] {
    host_cuda::spoil(workspace, host_cuda::convolution_workspace_bytes);
    call.run();
  });
  return CUDNN_STATUS_SUCCESS;
}
inline cudnnStatus_t cudnnPoolingForward(cudnnHandle_t, cudnnPoolingDescriptor_t pooling,
                                         const void*, cudnnTensorDescriptor_t of_x, const void* x,
                                         const void*, cudnnTensorDescriptor_t of_y, void* y) {
  const host_cuda::PoolCall call{*pooling, *of_x, *of_y, x, y};
  host_cuda::enqueue([=] { call.run(); });
  return CUDNN_STATUS_SUCCESS;
}
