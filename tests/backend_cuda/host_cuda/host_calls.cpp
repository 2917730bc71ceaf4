// Calls of the CUDA runtime whose bodies need not be compiled with each program (cuda_runtime.h, host_graph.h). Compiled
// with the sanitizer as programs are: what these calls do to a program's memory is looked at as well. Compiled with
// -include cuda_runtime.h.

#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <utility>
#include <vector>

namespace host_cuda {

struct GraphNode {
  std::function<void()> run;
  std::vector<GraphNode*> after;
};

struct Graph {
  std::vector<std::unique_ptr<GraphNode>> nodes;

  GraphNode* add(std::function<void()> run, GraphNode* const* after, std::size_t count) {
    nodes.push_back(std::make_unique<GraphNode>(
        GraphNode{std::move(run), std::vector<GraphNode*>(after, after + count)}));
    return nodes.back().get();
  }
};

/// What nodes do is that of the graph when it was made, or what they were given later.
struct ExecutableGraph {
  std::vector<const GraphNode*> order;
  std::map<const GraphNode*, GraphStep> steps;
};

namespace {

/// The graph that calls on the stream become nodes of, each after the one before; null: they run.
Graph* captured = nullptr;

int current_device = 0;
cudaError_t last_error = cudaSuccess;

/// Of an environment variable.
std::size_t number_of(const char* name, std::size_t otherwise) {
  const char* const value = std::getenv(name);
  return value == nullptr ? otherwise : std::strtoull(value, nullptr, 10);
}

/// The bytes of each allocation.
std::map<const char*, std::size_t> allocations;

std::function<void()> host_copy(void* to, const void* from, std::size_t bytes) {
  return [=] { std::memmove(to, from, bytes); };
}

}  // namespace

bool is_allocated(const void* memory, std::size_t bytes) {
  const char* const begin = static_cast<const char*>(memory);
  auto after = allocations.upper_bound(begin);
  if (after == allocations.begin()) return false;
  --after;
  return begin + bytes <= after->first + after->second;
}

void enqueue(std::function<void()> run) {
  if (captured == nullptr) return run();
  GraphNode* const last = captured->nodes.empty() ? nullptr : captured->nodes.back().get();
  captured->add(std::move(run), &last, last == nullptr ? 0 : 1);
}

}  // namespace host_cuda

cudaError_t not_captured() {
  if (host_cuda::has_failed()) return cudaErrorLaunchFailure;
  return host_cuda::captured == nullptr ? cudaSuccess : cudaErrorStreamCaptureUnsupported;
}

cudaError_t cudaMalloc(void** memory, std::size_t bytes) {
  if (not_captured() != cudaSuccess) return not_captured();
  *memory = nullptr;
  if (bytes < host_cuda::number_of("HOST_CUDA_MEMORY", SIZE_MAX))
    *memory = std::aligned_alloc(256, (bytes / 256 + 1) * 256);
  if (*memory == nullptr) return host_cuda::last_error = cudaErrorMemoryAllocation;
  std::memset(*memory, 0xff, (bytes / 256 + 1) * 256);
  host_cuda::allocations[static_cast<const char*>(*memory)] = bytes;
  return cudaSuccess;
}

cudaError_t cudaFree(void* memory) {
  host_cuda::allocations.erase(static_cast<const char*>(memory));
  std::free(memory);
  return cudaSuccess;
}

cudaError_t cudaHostAlloc(void** memory, std::size_t bytes, unsigned) {
  *memory = std::aligned_alloc(256, (bytes / 256 + 1) * 256);
  return *memory == nullptr ? cudaErrorMemoryAllocation : cudaSuccess;
}

cudaError_t cudaFreeHost(void* memory) {
  std::free(memory);
  return cudaSuccess;
}

cudaError_t cudaGetLastError() { return std::exchange(host_cuda::last_error, cudaSuccess); }

cudaError_t cudaDriverGetVersion(int* version) {
  *version = static_cast<int>(host_cuda::number_of("HOST_CUDA_DRIVER", CUDART_VERSION));
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = static_cast<int>(host_cuda::number_of("HOST_CUDA_DEVICES", 1));
  return *count == 0 ? host_cuda::last_error = cudaErrorNoDevice : cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  *device = host_cuda::current_device;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  host_cuda::current_device = device;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  const std::size_t architecture = host_cuda::number_of("HOST_CUDA_ARCHITECTURE", 90);
  const std::size_t values[] = {host_cuda::number_of("HOST_CUDA_PROCESSORS", 1024), 1,
                                architecture / 10, architecture % 10,
                                host_cuda::number_of("HOST_CUDA_SHARED_BYTES", 1U << 30U)};
  *value = static_cast<int>(values[attribute]);
  return cudaSuccess;
}

cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
  if (host_cuda::captured != nullptr) return cudaErrorStreamCaptureUnsupported;
  host_cuda::captured = new host_cuda::Graph;
  return cudaSuccess;
}

cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t* graph) {
  *graph = host_cuda::captured;
  host_cuda::captured = nullptr;
  return *graph == nullptr ? cudaErrorStreamCaptureUnsupported : cudaSuccess;
}

cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned) {
  *graph = new host_cuda::Graph;
  return cudaSuccess;
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                       const cudaGraphNode_t* after, std::size_t count,
                                       cudaGraph_t child) {
  std::vector<std::function<void()>> runs;
  for (const auto& each : child->nodes) runs.push_back(each->run);
  *node = graph->add(
      [runs] {
        for (const auto& run : runs) run();
      },
      after, count);
  return cudaSuccess;
}

cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph,
                                     const cudaGraphNode_t* after, std::size_t count, void* to,
                                     const void* from, std::size_t bytes, cudaMemcpyKind) {
  *node = graph->add(host_cuda::host_copy(to, from, bytes), after, count);
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned) {
  *made = new host_cuda::ExecutableGraph;
  std::map<const host_cuda::GraphNode*, std::size_t> numbers;
  for (const auto& node : graph->nodes) {
    host_cuda::GraphStep& step = (*made)->steps[node.get()];
    step.run = node->run;
    for (const host_cuda::GraphNode* one : node->after) step.after.push_back(numbers.at(one));
    numbers[node.get()] = (*made)->order.size();
    (*made)->order.push_back(node.get());
  }
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t graph, cudaGraphNode_t node,
                                               void* to, const void* from, std::size_t bytes,
                                               cudaMemcpyKind) {
  graph->steps.at(node).run = host_cuda::host_copy(to, from, bytes);
  return cudaSuccess;
}

cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t) {
  std::vector<host_cuda::GraphStep> steps;
  for (const host_cuda::GraphNode* node : graph->order) steps.push_back(graph->steps.at(node));
  host_cuda::run_graph(steps);
  return cudaSuccess;
}
