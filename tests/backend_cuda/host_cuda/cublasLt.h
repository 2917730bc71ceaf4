#pragma once
// Matrix products of cuBLASLt on a processor, as plain loops, for tests only: what emitted programs call, no more.
// cuda_runtime.h comes before it.
// Products that need more alignment or workspace than they get are errors, as on a device.

#include <cstddef>
#include <cstdint>
#include <cstring>

enum cudaDataType_t { CUDA_R_32F = 0, CUDA_R_16F = 2, CUDA_R_16BF = 14 };
enum cublasStatus_t {
  CUBLAS_STATUS_SUCCESS = 0,
  CUBLAS_STATUS_INVALID_VALUE = 7,
  CUBLAS_STATUS_NOT_SUPPORTED = 15
};
enum cublasOperation_t { CUBLAS_OP_N, CUBLAS_OP_T };
enum cublasComputeType_t { CUBLAS_COMPUTE_32F = 68 };
enum cublasLtEpilogue_t {
  CUBLASLT_EPILOGUE_DEFAULT = 1,
  CUBLASLT_EPILOGUE_RELU = 2,
  CUBLASLT_EPILOGUE_BIAS = 4,
  CUBLASLT_EPILOGUE_RELU_BIAS = 6
};
enum cublasLtMatmulDescAttributes_t {
  CUBLASLT_MATMUL_DESC_TRANSA,
  CUBLASLT_MATMUL_DESC_TRANSB,
  CUBLASLT_MATMUL_DESC_EPILOGUE,
  CUBLASLT_MATMUL_DESC_BIAS_POINTER
};
enum cublasLtMatrixLayoutAttribute_t {
  CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT,
  CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET
};
enum cublasLtMatmulPreferenceAttributes_t {
  CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES,
  CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES
};

namespace host_cuda {

struct ProductHandle {};
struct ProductDescription {
  cublasOperation_t transposes[2] = {CUBLAS_OP_N, CUBLAS_OP_N};
  cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  const void* bias = nullptr;
};
struct MatrixLayout {
  cudaDataType_t type = CUDA_R_32F;
  std::int64_t rows = 0, columns = 0, leading = 0, batch_stride = 0;
  std::int32_t batches = 1;
  std::int64_t at(std::int64_t batch, std::int64_t row, std::int64_t column) const {
    return batch * batch_stride + column * leading + row;
  }
};
struct ProductPreference {
  std::size_t workspace_bytes = 0;
  std::uint32_t alignments[4] = {256, 256, 256, 256};
};
/// What an algorithm needs: any number here, so that programs have to ask.
struct ProductAlgorithm {
  std::uint32_t alignments[4] = {};
  std::size_t workspace_bytes = 0;
};

template <typename T>
cublasStatus_t take(T& target, const void* value, std::size_t bytes) {
  if (bytes != sizeof(T)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(&target, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace host_cuda

using cublasLtHandle_t = host_cuda::ProductHandle*;
using cublasLtMatmulDesc_t = host_cuda::ProductDescription*;
using cublasLtMatrixLayout_t = host_cuda::MatrixLayout*;
using cublasLtMatmulPreference_t = host_cuda::ProductPreference*;
using cublasLtMatmulAlgo_t = host_cuda::ProductAlgorithm;
struct cublasLtMatmulHeuristicResult_t {
  cublasLtMatmulAlgo_t algo;
  std::size_t workspaceSize;
  cublasStatus_t state;
};

inline const char* cublasLtGetStatusString(cublasStatus_t status) {
  return status == CUBLAS_STATUS_SUCCESS ? "no error" : "the call is not supported";
}
inline cublasStatus_t cublasLtCreate(cublasLtHandle_t* made) {
  *made = new host_cuda::ProductHandle;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtDestroy(cublasLtHandle_t one) {
  delete one;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* made, cublasComputeType_t,
                                               cudaDataType_t scale) {
  if (scale != CUDA_R_32F) return CUBLAS_STATUS_NOT_SUPPORTED;
  *made = new host_cuda::ProductDescription;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t one) {
  delete one;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t one,
                                                     cublasLtMatmulDescAttributes_t attribute,
                                                     const void* value, std::size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_TRANSA: return host_cuda::take(one->transposes[0], value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB: return host_cuda::take(one->transposes[1], value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE: return host_cuda::take(one->epilogue, value, bytes);
    default: return host_cuda::take(one->bias, value, bytes);
  }
}
inline cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* made, cudaDataType_t type,
                                                 std::uint64_t rows, std::uint64_t columns,
                                                 std::int64_t leading) {
  *made = new host_cuda::MatrixLayout;
  (*made)->type = type;
  (*made)->rows = static_cast<std::int64_t>(rows);
  (*made)->columns = static_cast<std::int64_t>(columns);
  (*made)->leading = leading;
  return leading < (*made)->rows ? CUBLAS_STATUS_INVALID_VALUE : CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t one) {
  delete one;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t one,
                                                       cublasLtMatrixLayoutAttribute_t attribute,
                                                       const void* value, std::size_t bytes) {
  return attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT
             ? host_cuda::take(one->batches, value, bytes)
             : host_cuda::take(one->batch_stride, value, bytes);
}
inline cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* made) {
  *made = new host_cuda::ProductPreference;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t one) {
  delete one;
  return CUBLAS_STATUS_SUCCESS;
}
inline cublasStatus_t cublasLtMatmulPreferenceSetAttribute(
    cublasLtMatmulPreference_t one, cublasLtMatmulPreferenceAttributes_t attribute,
    const void* value, std::size_t bytes) {
  if (attribute == CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES)
    return host_cuda::take(one->workspace_bytes, value, bytes);
  return host_cuda::take(one->alignments[attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES],
                         value, bytes);
}

/// One algorithm, which relies on the alignment that it may expect and on a workspace; none with $HOST_CUDA_NO_ALGORITHM.
cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t, cublasLtMatmulDesc_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatrixLayout_t, cublasLtMatrixLayout_t,
                                              cublasLtMatmulPreference_t preference, int asked,
                                              cublasLtMatmulHeuristicResult_t* found, int* count);

cublasStatus_t cublasLtMatmul(cublasLtHandle_t, cublasLtMatmulDesc_t description, const void* alpha,
                              const void* a, cublasLtMatrixLayout_t of_a, const void* b,
                              cublasLtMatrixLayout_t of_b, const void* beta, const void* c,
                              cublasLtMatrixLayout_t of_c, void* d, cublasLtMatrixLayout_t of_d,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                              std::size_t workspace_bytes, cudaStream_t);
