#include "plans/plan_page/plan_page.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "costmodel/graph_cost.h"
#include "made_operators/per_device.h"
#include "plans/on_ranks/rank_program.h"
#include "plans/plan_page/exchange_rows.h"
#include "plans/planner/simulation.h"
#include "plans/timetables/task_graphs.h"
#include "report/graph_svg.h"
#include "report/table.h"
#include "report/web_page.h"

namespace lemma::plans {

namespace {

constexpr std::size_t most_boxes = 160, most_rows = 400;

struct DeviceRow {
  double computing = 0, communicating = 0, sent = 0, needed = 0;
};

/// What the page says, for programs of either kind.
struct Page {
  std::string lead, note;  // what is predicted, and what is proved
  std::vector<DeviceRow> devices;
  bool are_alike = false;
  std::vector<ExchangeRow> exchanges;
  std::string picture;
};

std::string cell(const std::string& text, bool is_word = false) {
  return fmt::format("<td{}>{}</td>", is_word ? " class=\"word\"" : "", html_escaped(text));
}
std::string heading(std::string_view text, bool is_word = false) {
  return fmt::format("<th{}>{}</th>", is_word ? " class=\"word\"" : "", text);
}

std::string device_table(const Page& page) {
  std::string rows;
  for (std::size_t i = 0; i < page.devices.size(); ++i) {
    const DeviceRow& device = page.devices[i];
    rows += "<tr>" + cell(page.are_alike ? "each" : fmt::format("{}", i), true) +
            cell(duration_text(device.computing)) + cell(duration_text(device.communicating)) +
            cell(with_prefix(device.sent)) + cell(with_prefix(device.needed)) + "</tr>\n";
  }
  return "<h2>Devices</h2>\n<table><thead><tr>" + heading("device", true) + heading("computes") +
         heading("communicates") + heading("bytes sent") + heading("bytes needed") +
         "</tr></thead>\n<tbody>\n" + rows + "</tbody></table>\n";
}

/// Equal rows are one, with their number.
std::string exchange_table(const Page& page) {
  if (page.exchanges.empty()) return "<h2>Exchanges</h2>\n<p>Nothing is exchanged.</p>\n";
  std::string rows;
  for (std::size_t i = 0; i < std::min(page.exchanges.size(), most_rows); ++i) {
    const ExchangeRow& row = page.exchanges[i];
    rows += "<tr>" + cell(row.what, true) + cell(row.value, true) + cell(with_prefix(row.bytes)) +
            cell(duration_text(row.seconds)) + cell(row.why, true) + "</tr>\n";
  }
  std::string rest;
  if (page.exchanges.size() > most_rows)
    rest = fmt::format("<p class=\"quiet\">{} more are not shown.</p>\n",
                       page.exchanges.size() - most_rows);
  return "<h2>Exchanges</h2>\n<div class=\"wide\"><table><thead><tr>" + heading("exchange", true) +
         heading("value", true) + heading("bytes sent by a device") + heading("time") +
         heading("why", true) + "</tr></thead>\n<tbody>\n" + rows + "</tbody></table></div>\n" +
         rest;
}

std::string page_text(const Page& page, const PlanPageRequest& request) {
  WebPage result;
  result.title = fmt::format("Plan of {}", request.model);
  result.heading = result.title;
  result.body = fmt::format("<p class=\"lead\">{}</p>\n<p>{}</p>\n", html_escaped(page.lead),
                            html_escaped(page.note)) +
                device_table(page) + exchange_table(page) + "<h2>Program</h2>\n" + page.picture;
  return lemma::text(result);
}

std::string proof_note(const Verification& verification) {
  std::size_t claims = 0;
  for (const AskedClaim& claim : verification.relations.claims) claims += claim.is_proved ? 1U : 0U;
  std::string note = fmt::format(
      "{}: {} of {} values of the program are values of the single-device model, by {} claims.",
      name(verification.verdict), verification.related, verification.values, claims);
  if (verification.divergence)
    note +=
        fmt::format(" The first value that is none of them: {}.", verification.divergence->where);
  return note;
}

std::string picture_of(const Graph& graph, const std::vector<char>& marked,
                       const NodeNotes& notes) {
  const std::size_t boxes = graph.live_nodes().size() + graph.outputs().size();
  if (boxes > most_boxes)
    return fmt::format("<p class=\"quiet\">{} nodes are too many for a picture.</p>\n", boxes);
  return "<p>What is exchanged is in a color of its own.</p>\n<div class=\"wide\">" +
         graph_svg(graph, marked, "added", notes) + "</div>\n";
}

/// The most that a device has at a time: inputs and weights always, other values from when they are made until they are read
/// for the last time.
double needed_bytes(const Program& program) {
  const Graph& graph = program.graph;
  const auto devices = static_cast<double>(program.mesh.device_count());
  const std::vector<NodeId> order = graph.live_nodes();
  std::map<ValueId, std::size_t> last_use;
  for (std::size_t i = 0; i < order.size(); ++i)
    for (const ValueId operand : graph.node(order[i]).inputs)
      if (!operand.is_none()) last_use[operand] = i;
  for (const GraphOutput& output : graph.outputs()) last_use[output.value] = order.size();
  double now = 0, most = 0;
  std::multimap<std::size_t, double> ends;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Node& node = graph.node(order[i]);
    for (std::uint32_t k = 0; k < node.output_count; ++k) {
      const double bytes = bytes_of_tensor(graph.type(node.output(k))) / devices;
      now += bytes;
      const auto use = last_use.find(node.output(k));
      if (node.kind == NodeKind::operation)
        ends.emplace(use == last_use.end() ? i : use->second, bytes);
    }
    most = std::max(most, now);
    for (auto end = ends.begin(); end != ends.end() && end->first <= i; end = ends.erase(end))
      now -= end->second;
  }
  return most;
}

std::string lead_of(const std::string& devices, double seconds, const Graph& single,
                    const PlanPageRequest& request) {
  return fmt::format("{}: {} as predicted for {}, and {} on one device.", devices,
                     duration_text(seconds), request.cluster->name,
                     duration_text(cost_of(single, *request.costs).seconds));
}

}  // namespace

Result<std::string> plan_page(const Graph& single, const Program& program,
                              const Verification& verification, const PlanPageRequest& request) {
  LEMMA_ASSIGN_OR_RETURN(const clusters::Mesh mesh, matching_mesh(program.mesh, *request.cluster));
  Page page;
  LEMMA_ASSIGN_OR_RETURN(page.exchanges,
                         exchange_rows(single, program, verification.relations, mesh));
  LEMMA_ASSIGN_OR_RETURN(const RankProgram own, rank_program(program, 0));
  DeviceRow device;
  for (const Stage& stage : own.stages)
    device.computing += cost_of(stage.graph, *request.costs).seconds;
  for (const ExchangeRow& row : page.exchanges) {
    device.communicating += row.seconds;
    device.sent += row.bytes;
  }
  device.needed = needed_bytes(program);
  page.devices = {device};
  page.are_alike = true;
  page.lead = lead_of(fmt::format("{} devices, each with a part", program.mesh.device_count()),
                      device.computing + device.communicating, single, request);
  page.note = proof_note(verification);
  NodeNotes notes;
  std::vector<char> marked(program.graph.node_count(), 0);
  for (const NodeId id : program.graph.live_nodes()) {
    const Node& node = program.graph.node(id);
    const bool is_exchange = node.kind == NodeKind::operation && !node.inputs.empty() &&
                             !made_operators::is_per_device(program.graph.op(node)) &&
                             program.graph.op(node).name != "Replicate";
    marked[id.v] = is_exchange ? 1 : 0;
    if (node.kind == NodeKind::constant) continue;
    const auto& relation = verification.relations.of[node.output().v];
    if (node.kind == NodeKind::operation)
      notes[id].push_back(described_operator(program.graph, node));
    notes[id].push_back(relation ? text(relation->placement, program.mesh)
                                 : std::string("no value of the model"));
  }
  page.picture = picture_of(program.graph, marked, notes);
  return page_text(page, request);
}

Result<std::string> plan_page(const Graph& single, const RankedProgram& program,
                              const Verification& verification, const PlanPageRequest& request) {
  if (program.rank_count() > request.cluster->devices.size())
    return bad_input(fmt::format("the plan is for {} devices, and the cluster '{}' has {}",
                                 program.rank_count(), request.cluster->name,
                                 request.cluster->devices.size()));
  const Paths paths(*request.cluster);
  NodePrices prices(*request.costs);
  LEMMA_ASSIGN_OR_RETURN(const Simulation simulation, simulate(program, paths, prices));
  Page page;
  page.exchanges = exchange_rows(program, *request.cluster);
  for (std::size_t rank = 0; rank < program.rank_count(); ++rank) {
    DeviceRow device{simulation.busy[rank], 0, simulation.sent_bytes[rank],
                     simulation.peak_bytes[rank]};
    for (const Transfer& transfer : program.transfers)
      if (transfer.from == rank)
        device.communicating +=
            paths.seconds(transfer.from, transfer.to,
                          bytes_of_tensor(program.program.graph.type(transfer.value)));
    page.devices.push_back(device);
  }
  page.lead = lead_of(fmt::format("{} devices with operators of their own", program.rank_count()),
                      simulation.seconds, single, request);
  page.note = proof_note(verification);
  const Graph& graph = program.program.graph;
  NodeNotes notes;
  std::map<NodeId, std::vector<std::size_t>> ranks;
  for (std::size_t rank = 0; rank < program.rank_count(); ++rank)
    for (const Step& step : program.steps[rank])
      if (step.kind == StepKind::compute) ranks[step.node].push_back(rank);
  std::vector<char> marked(graph.node_count(), 0);
  for (const auto& [id, where] : ranks)
    notes[id] = {described_operator(graph, graph.node(id)),
                 fmt::format("rank {}", fmt::join(where, ", "))};
  for (const Transfer& transfer : program.transfers) marked[graph.producer(transfer.value).v] = 1;
  page.picture = picture_of(graph, marked, notes);
  return page_text(page, request);
}

}  // namespace lemma::plans
