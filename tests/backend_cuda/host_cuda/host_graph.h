#pragma once
// CUDA graphs on a processor: streams that are captured, nodes, what comes after what. The nodes of a launch run one after
// the other in an order that $HOST_CUDA_ORDER chooses among those that the edges allow, as the blocks of a grid do
// (host_cuda.h): ascending, descending, random, or node N as late as can be. With ThreadSanitizer each node is a thread of
// its own, and only edges order what nodes do.

#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "host_cuda.h"

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

/// The graph that calls on the stream become nodes of, each after the one before; null: they run.
inline Graph* captured = nullptr;

inline void enqueue(std::function<void()> run) {
  if (captured == nullptr) return run();
  GraphNode* const last = captured->nodes.empty() ? nullptr : captured->nodes.back().get();
  captured->add(std::move(run), &last, last == nullptr ? 0 : 1);
}

}  // namespace host_cuda

using cudaGraph_t = host_cuda::Graph*;
using cudaGraphNode_t = host_cuda::GraphNode*;
using cudaGraphExec_t = host_cuda::ExecutableGraph*;
enum cudaStreamCaptureMode { cudaStreamCaptureModeThreadLocal };

inline cudaError_t cudaStreamBeginCapture(cudaStream_t, cudaStreamCaptureMode) {
  if (host_cuda::captured != nullptr) return cudaErrorStreamCaptureUnsupported;
  host_cuda::captured = new host_cuda::Graph;
  return cudaSuccess;
}
inline cudaError_t cudaStreamEndCapture(cudaStream_t, cudaGraph_t* graph) {
  *graph = host_cuda::captured;
  host_cuda::captured = nullptr;
  return *graph == nullptr ? cudaErrorStreamCaptureUnsupported : cudaSuccess;
}

inline cudaError_t cudaGraphCreate(cudaGraph_t* graph, unsigned) {
  *graph = new host_cuda::Graph;
  return cudaSuccess;
}
inline cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}

/// The child is copied. Its nodes follow each other, as all that is captured here.
inline cudaError_t cudaGraphAddChildGraphNode(cudaGraphNode_t* node, cudaGraph_t graph,
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

inline std::function<void()> host_copy(void* to, const void* from, std::size_t bytes) {
  return [=] { std::memmove(to, from, bytes); };
}
inline cudaError_t cudaGraphAddMemcpyNode1D(cudaGraphNode_t* node, cudaGraph_t graph,
                                            const cudaGraphNode_t* after, std::size_t count,
                                            void* to, const void* from, std::size_t bytes,
                                            cudaMemcpyKind) {
  *node = graph->add(host_copy(to, from, bytes), after, count);
  return cudaSuccess;
}

inline cudaError_t cudaGraphInstantiate(cudaGraphExec_t* made, cudaGraph_t graph, unsigned) {
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
inline cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  delete graph;
  return cudaSuccess;
}
inline cudaError_t cudaGraphExecMemcpyNodeSetParams1D(cudaGraphExec_t graph, cudaGraphNode_t node,
                                                      void* to, const void* from, std::size_t bytes,
                                                      cudaMemcpyKind) {
  graph->steps.at(node).run = host_copy(to, from, bytes);
  return cudaSuccess;
}
inline cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t) {
  std::vector<host_cuda::GraphStep> steps;
  for (const host_cuda::GraphNode* node : graph->order) steps.push_back(graph->steps.at(node));
  host_cuda::run_graph(steps);
  return cudaSuccess;
}
