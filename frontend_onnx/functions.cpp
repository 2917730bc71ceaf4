#include "frontend_onnx/functions.h"

#include <algorithm>

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "frontend_onnx/subgraphs.h"

namespace lemma::frontend {

namespace {

using NodeMessage = ::onnx::NodeProto;
using Function = ::onnx::FunctionProto;

/// The messages of our protobuf library are older than overloads.
std::string unknown_text(const google::protobuf::UnknownFieldSet& fields, int number) {
  std::string text;
  for (int i = 0; i < fields.field_count(); ++i)
    if (fields.field(i).number() == number &&
        fields.field(i).type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
      text = fields.field(i).length_delimited();
  return text;
}

/// The messages of our protobuf library are older than default values, too.
std::vector<::onnx::AttributeProto> attribute_defaults(const Function& function) {
  constexpr int attribute_proto = 11;
  const auto& fields = function.unknown_fields();
  std::vector<::onnx::AttributeProto> defaults;
  for (int i = 0; i < fields.field_count(); ++i)
    if (fields.field(i).number() == attribute_proto &&
        fields.field(i).type() == google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED)
      defaults.emplace_back().ParseFromString(fields.field(i).length_delimited());
  return defaults;
}

std::string key_of(const std::string& domain, const std::string& name,
                   const std::string& overload) {
  return fmt::format("{}.{}{}{}", canonical_domain(domain), name, overload.empty() ? "" : ":",
                     overload);
}

class FunctionInliner {
 public:
  FunctionInliner(const ::onnx::ModelProto& model, OperatorSets& sets, std::size_t limit)
      : model_(model), sets_(sets), limit_(limit) {}

  Result<FlatNodes> run() {
    for (const Function& function : model_.functions())
      if (!functions_.emplace(function_key(function), &function).second)
        return bad_input(fmt::format("two functions are named '{}'", function_key(function)));
    const auto& nodes = model_.graph().node();
    if (!functions_.empty()) {
      LEMMA_RETURN_IF_ERROR(check_calls());
      collect_names();
    }
    out_.nodes.reserve(static_cast<std::size_t>(nodes.size()));
    for (int i = 0; i < nodes.size(); ++i) {
      index_ = i;
      if (functions_.empty())
        out_.nodes.push_back({&nodes[i], i, {}});
      else
        LEMMA_RETURN_IF_ERROR(expand(nodes[i]));
    }
    return std::move(out_);
  }

 private:
  /// Functions call others in no circle, and those that the model calls are of imported domains.
  Result<void> check_calls() {
    std::map<std::string, std::vector<std::string>> callees;
    std::map<std::string, int> callers;
    for (const auto& [key, function] : functions_) {
      std::vector<std::string>& called = callees[key];
      for (const NodeMessage& node : function->node())
        for_each_node(node, [&](const NodeMessage& inner) {
          if (functions_.contains(function_key(inner))) called.push_back(function_key(inner));
        });
      for (const std::string& callee : called) ++callers[callee];
    }
    std::vector<std::string> ready;
    for (const auto& [key, called] : callees)
      if (!callers.contains(key)) ready.push_back(key);
    for (std::size_t i = 0; i < ready.size(); ++i)
      for (const std::string& callee : callees[ready[i]])
        if (--callers[callee] == 0) ready.push_back(callee);
    for (const auto& [key, count] : callers)
      if (count > 0) return bad_input(fmt::format("function '{}' calls itself", key));
    for (const NodeMessage& node : model_.graph().node())
      if (functions_.contains(function_key(node)) &&
          !sets_.contains(canonical_domain(node.domain())))
        return bad_input(
            fmt::format("the model imports no operator set of domain '{}', which has "
                        "function '{}'",
                        node.domain(), node.op_type()));
    return {};
  }

  /// A function body in progress.
  struct Frame {
    std::vector<const NodeMessage*> nodes;
    std::size_t next = 0;
  };

  Result<void> expand(const NodeMessage& node) {
    std::vector<Frame> frames = {{{&node}, 0}};
    while (!frames.empty()) {
      Frame& frame = frames.back();
      if (frame.next == frame.nodes.size()) {
        frames.pop_back();
        continue;
      }
      const NodeMessage& current = *frame.nodes[frame.next++];
      const auto function = functions_.find(function_key(current));
      if (function == functions_.end()) {
        out_.nodes.push_back({&current, index_, {}});
        continue;
      }
      std::string reason = mismatch(*function->second);
      if (!reason.empty()) {
        import_domain(current.domain());
        out_.nodes.push_back({&current, index_, std::move(reason)});
        continue;
      }
      auto body = instantiate(*function->second, current);
      if (!body)
        return with_context(
            fmt::format("{}: function '{}'", label({&current, index_, {}}), function->first),
            std::move(body.error()));
      frames.push_back({std::move(*body), 0});
    }
    return {};
  }

  void import_domain(const std::string& domain) { sets_.try_emplace(canonical_domain(domain), 1); }

  /// Why the body would mean something else in this model; empty if it would not.
  std::string mismatch(const Function& function) {
    OperatorSets imports;
    for (const auto& import : function.opset_import())
      imports[canonical_domain(import.domain())] = static_cast<int>(import.version());
    std::set<std::string> domains;
    for (const NodeMessage& node : function.node())
      for_each_node(node, [&](const NodeMessage& inner) {
        if (!functions_.contains(function_key(inner)))
          domains.insert(canonical_domain(inner.domain()));
      });
    for (const std::string& domain : domains) {
      const auto own = imports.find(domain);
      const auto outer = sets_.find(domain);
      if (own == imports.end())
        return fmt::format("function without an operator set of domain '{}'", domain);
      if (outer != sets_.end() && outer->second != own->second)
        return fmt::format("function of operator set {} in a model of {}", own->second,
                           outer->second);
    }
    for (const std::string& domain : domains) sets_.try_emplace(domain, imports.at(domain));
    return {};
  }

  Result<std::vector<const NodeMessage*>> instantiate(const Function& function,
                                                      const NodeMessage& call) {
    if (call.input_size() > function.input_size() || call.output_size() > function.output_size())
      return bad_input("the call has more inputs or outputs than the function");
    const std::string prefix =
        fmt::format("{}_{}", call.name().empty() ? function.name() : call.name(), ++calls_);
    auto fresh = [this, &prefix](const std::string& name) { return unique(prefix + "/" + name); };
    NameMap names;
    for (int i = 0; i < function.input_size(); ++i)
      names.emplace(function.input(i), i < call.input_size() ? call.input(i) : "");
    std::vector<std::pair<std::string, std::string>> copies;  // outputs that repeat another value
    for (int i = 0; i < function.output_size(); ++i) {
      const bool wanted = i < call.output_size() && !call.output(i).empty();
      if (!wanted) continue;
      if (!names.try_emplace(function.output(i), call.output(i)).second)
        copies.emplace_back(function.output(i), call.output(i));
    }
    std::set<std::string> defined(function.input().begin(), function.input().end());
    for (const NodeMessage& node : function.node())
      for (const std::string& output : node.output()) {
        if (output.empty()) continue;
        if (!defined.insert(output).second)
          return bad_input(fmt::format("'{}' is defined twice", output));
        if (!names.contains(output)) names.emplace(output, fresh(output));
      }
    if (out_.instances.size() + static_cast<std::size_t>(function.node_size()) + copies.size() >
        limit_)
      return bad_input(fmt::format("inlining makes more than {} nodes", limit_));

    const std::vector<::onnx::AttributeProto> defaults = attribute_defaults(function);
    std::vector<const NodeMessage*> body;
    for (const NodeMessage& node : function.node()) {
      NodeMessage& copy = out_.instances.emplace_back(node);
      body.push_back(&copy);
      bind_attributes(copy, defaults, call);
      for (const std::string& used : captured_names(copy))
        LEMMA_RETURN_IF_ERROR(check(used, defined));
      for (std::string& input : *copy.mutable_input()) {
        LEMMA_RETURN_IF_ERROR(check(input, defined));
        if (!input.empty()) input = names.at(input);
      }
      for (std::string& output : *copy.mutable_output())
        if (!output.empty()) output = names.at(output);
      rename_subgraphs(copy, names, fresh);
    }
    for (const auto& [formal, actual] : copies) {
      LEMMA_RETURN_IF_ERROR(check(formal, defined));
      NodeMessage& copy = out_.instances.emplace_back();
      copy.set_op_type("Identity");
      copy.add_input(names.at(formal));
      copy.add_output(actual);
      body.push_back(&copy);
    }
    return body;
  }

  static Result<void> check(const std::string& name, const std::set<std::string>& defined) {
    if (name.empty() || defined.contains(name)) return {};
    return bad_input(fmt::format("'{}' is not defined", name));
  }

  /// Replaces references to the function's attributes by the values at this call, at any depth.
  static void bind_attributes(NodeMessage& node,
                              const std::vector<::onnx::AttributeProto>& defaults,
                              const NodeMessage& call) {
    auto value_of = [&](const std::string& name) -> const ::onnx::AttributeProto* {
      for (const auto& attribute : call.attribute())
        if (attribute.name() == name) return &attribute;
      for (const auto& attribute : defaults)
        if (attribute.name() == name) return &attribute;
      return nullptr;
    };
    auto& attributes = *node.mutable_attribute();
    for (int i = attributes.size(); i-- > 0;) {
      auto& attribute = attributes[i];
      if (!attribute.ref_attr_name().empty()) {
        const auto* value = value_of(attribute.ref_attr_name());
        if (value == nullptr) {  // optional and not given
          attributes.DeleteSubrange(i, 1);
          continue;
        }
        const std::string name = attribute.name();
        attribute = *value;
        attribute.set_name(name);
        continue;  // a graph given by the caller refers to the caller's attributes
      }
      if (attribute.has_g())
        for (NodeMessage& inner : *attribute.mutable_g()->mutable_node())
          bind_attributes(inner, defaults, call);
      for (auto& graph : *attribute.mutable_graphs())
        for (NodeMessage& inner : *graph.mutable_node()) bind_attributes(inner, defaults, call);
    }
  }

  void collect_names() {
    const auto& graph = model_.graph();
    for (const auto& input : graph.input()) names_.insert(input.name());
    for (const auto& output : graph.output()) names_.insert(output.name());
    for (const auto& tensor : graph.initializer()) names_.insert(tensor.name());
    for (const NodeMessage& node : graph.node()) {
      names_.insert(node.input().begin(), node.input().end());
      names_.insert(node.output().begin(), node.output().end());
      collect_inner_names(node, names_);
    }
  }

  std::string unique(const std::string& base) {
    std::string name = base;
    for (int i = 2; !names_.insert(name).second; ++i) name = fmt::format("{}_{}", base, i);
    return name;
  }

  const ::onnx::ModelProto& model_;
  OperatorSets& sets_;
  std::size_t limit_;
  std::map<std::string, const Function*> functions_;
  std::set<std::string> names_;
  FlatNodes out_;
  int index_ = 0;
  int calls_ = 0;
};

}  // namespace

std::string canonical_domain(const std::string& domain) {
  return domain == "ai.onnx" ? std::string() : domain;
}

std::string function_key(const Function& function) {
  constexpr int overload = 13;
  return key_of(function.domain(), function.name(),
                unknown_text(function.unknown_fields(), overload));
}

std::string function_key(const NodeMessage& node) {
  constexpr int overload = 8;
  return key_of(node.domain(), node.op_type(), unknown_text(node.unknown_fields(), overload));
}

std::string label(const FlatNode& node) {
  const std::string name = node.node->name().empty() ? "" : fmt::format(" '{}'", node.node->name());
  return fmt::format("node {}{} ({})", node.index, name, node.node->op_type());
}

Result<FlatNodes> inline_functions(const ::onnx::ModelProto& model, OperatorSets& sets,
                                   std::size_t node_limit) {
  return FunctionInliner(model, sets, node_limit).run();
}

}  // namespace lemma::frontend
