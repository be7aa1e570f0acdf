// GraphDef and FunctionDef to Graph, with every check that keeps later phases free of them.
#include <fcntl.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/tokenizer.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/text_format.h>

#include <cstdio>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "hlo/base/read_file.h"
#include "hlo/base/status.h"
#include "jit/graph/graph.h"

namespace xc {
namespace {

constexpr int64_t kMaxRepeat = 1 << 20;

absl::Status NodeError(const Node& node, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("node '", node.name, "' (", node.op, "): ", what));
}

// True if the value can stand for an attribute of the kind; an absent value counts as an empty list or shape.
bool KindMatches(const tf::AttrValue& v, const std::string& kind) {
  switch (v.value_case()) {
    case tf::AttrValue::kS:
      return kind == "string";
    case tf::AttrValue::kI:
      return kind == "int";
    case tf::AttrValue::kF:
      return kind == "float";
    case tf::AttrValue::kB:
      return kind == "bool";
    case tf::AttrValue::kType:
      return kind == "type";
    case tf::AttrValue::kShape:
      return kind == "shape";
    case tf::AttrValue::kTensor:
      return kind == "tensor";
    case tf::AttrValue::kFunc:
      return kind == "func";
    case tf::AttrValue::kList:
      return absl::StartsWith(kind, "list(");
    default:
      return false;
  }
}

absl::Status ExpandArgs(const Node& node, const std::vector<ArgSignature>& args, std::vector<DataType>* types) {
  for (const ArgSignature& arg : args) {
    if (!arg.type_list_attr.empty()) {
      XC_ASSIGN_OR_RETURN(std::vector<DataType> list, node.Types(arg.type_list_attr));
      types->insert(types->end(), list.begin(), list.end());
      continue;
    }
    DataType type = arg.type;
    if (!arg.type_attr.empty()) {
      XC_ASSIGN_OR_RETURN(type, node.Type(arg.type_attr));
    }
    int64_t repeat = 1;
    if (!arg.number_attr.empty()) {
      XC_ASSIGN_OR_RETURN(repeat, node.Int(arg.number_attr));
      if (repeat < 0 || repeat > kMaxRepeat) {
        return NodeError(node, absl::StrCat("attribute '", arg.number_attr, "' is ", repeat));
      }
    }
    types->insert(types->end(), repeat, type);
  }
  return absl::OkStatus();
}

// Fills the node's own fields from its definition; inputs come later.
absl::StatusOr<Node> StartNode(const NodeDef& def, const NameAttrList* call, bool allow_unknown) {
  Node node;
  node.name = def.name();
  node.op = def.op();
  node.device = def.device();
  if (node.name.empty()) return absl::InvalidArgumentError(absl::StrCat("a node of op '", node.op, "' has no name"));
  for (const auto& entry : def.attr()) {
    tf::AttrValue value = entry.second;
    if (value.value_case() == tf::AttrValue::kPlaceholder) {
      if (call == nullptr || call->attr().count(value.placeholder()) == 0) {
        return NodeError(node, absl::StrCat("attribute '", entry.first, "' refers to '", value.placeholder(),
                                            "', which the call does not give"));
      }
      value = tf::AttrValue(call->attr().at(value.placeholder()));
    }
    node.attrs[entry.first] = std::move(value);
  }
  node.def = FindOpDef(node.op);
  if (node.def == nullptr) {
    if (!allow_unknown) return NodeError(node, absl::StrCat("unknown operation '", node.op, "'"));
    return node;
  }
  XC_RETURN_IF_ERROR(ResolveSignature(node));
  return node;
}

// Connects the data inputs and checks number and types.
absl::Status CheckInputs(const Graph& graph, Node& node) {
  for (const OutputRef& in : node.inputs) {
    const Node& src = graph.node(in.node);
    if (src.def == nullptr) continue;
    if (in.index >= src.num_outputs()) {
      return NodeError(node,
                       absl::StrCat("takes output ", in.index, " of '", src.name, "', which has ", src.num_outputs()));
    }
  }
  if (node.def == nullptr) {
    node.input_types.assign(node.inputs.size(), DT_INVALID);
    return absl::OkStatus();
  }
  if (node.inputs.size() != node.input_types.size()) {
    return NodeError(
        node, absl::StrCat("has ", node.inputs.size(), " data inputs, its signature has ", node.input_types.size()));
  }
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Node& src = graph.node(node.inputs[i].node);
    if (src.def == nullptr) continue;
    DataType got = src.output_types[node.inputs[i].index];
    if (got != node.input_types[i] && got != DT_INVALID && node.input_types[i] != DT_INVALID) {
      return NodeError(node, absl::StrCat("input ", i, " ('", src.name, "') is ", DataTypeName(got), ", expected ",
                                          DataTypeName(node.input_types[i])));
    }
  }
  return absl::OkStatus();
}

// Opaque nodes have as many outputs as somebody uses.
void GrowOpaqueOutputs(Graph& graph) {
  for (int id = 0; id < graph.size(); ++id) {
    for (const OutputRef& in : graph.node(id).inputs) {
      Node& src = graph.node(in.node);
      if (src.def == nullptr && in.index >= src.num_outputs()) src.output_types.resize(in.index + 1, DT_INVALID);
    }
  }
}

absl::Status Finish(Graph& graph) {
  GrowOpaqueOutputs(graph);
  for (int id = 0; id < graph.size(); ++id) {
    XC_RETURN_IF_ERROR(CheckInputs(graph, graph.node(id)));
  }
  return graph.TopologicalOrder().status();
}

class TextErrors : public google::protobuf::io::ErrorCollector {
 public:
  void AddError(int line, int column, const std::string& message) override {
    if (text_.empty()) text_ = absl::StrCat("line ", line + 1, ", column ", column + 1, ": ", message);
  }
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace

absl::Status ResolveSignature(Node& node) {
  node.input_types.clear();
  node.output_types.clear();
  if (node.def == nullptr) node.def = FindOpDef(node.op);
  if (node.def == nullptr) return NodeError(node, absl::StrCat("unknown operation '", node.op, "'"));
  for (const AttrSignature& attr : node.def->attrs) {
    auto it = node.attrs.find(attr.name);
    if (it == node.attrs.end()) {
      if (!attr.has_default && !absl::StartsWith(attr.name, "_") &&
          (attr.kind == "type" || attr.kind == "func" || attr.kind == "tensor")) {
        return NodeError(node, absl::StrCat("attribute '", attr.name, "' is missing"));
      }
      continue;
    }
    if (!KindMatches(it->second, attr.kind)) {
      return NodeError(node, absl::StrCat("attribute '", attr.name, "' is not of kind ", attr.kind));
    }
  }
  XC_RETURN_IF_ERROR(ExpandArgs(node, node.def->inputs, &node.input_types));
  XC_RETURN_IF_ERROR(ExpandArgs(node, node.def->outputs, &node.output_types));
  if (node.op == "Const" && node.constant == nullptr) {
    const TensorProto& proto = node.FindAttr("value")->tensor();
    if (BaseType(proto.dtype()) != node.output_types[0]) return NodeError(node, "the types of dtype and value differ");
    auto value = Tensor::FromProto(proto);
    if (!value.ok()) return NodeError(node, std::string(value.status().message()));
    node.constant = std::make_shared<const HostConstant>(*std::move(value));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::pair<std::string, int>> ParseTensorName(const std::string& text) {
  if (text.empty()) return absl::InvalidArgumentError("empty tensor name");
  if (text[0] == '^') return std::make_pair(text.substr(1), -1);
  size_t colon = text.rfind(':');
  if (colon == std::string::npos) return std::make_pair(text, 0);
  int index = 0;
  if (!absl::SimpleAtoi(text.substr(colon + 1), &index) || index < 0) {
    return absl::InvalidArgumentError(absl::StrCat("bad tensor name '", text, "'"));
  }
  return std::make_pair(text.substr(0, colon), index);
}

namespace {

// The innermost known position of a node as "file:line"; empty if the graph has none.
std::string SourceLine(const tf::GraphDebugInfo& info, const std::string& key) {
  const tf::GraphDebugInfo::StackTrace* trace = nullptr;
  if (auto it = info.traces().find(key); it != info.traces().end()) trace = &it->second;
  if (auto id = info.name_to_trace_id().find(key); trace == nullptr && id != info.name_to_trace_id().end()) {
    auto it = info.traces_by_id().find(id->second);
    if (it != info.traces_by_id().end()) trace = &it->second;
  }
  if (trace == nullptr) return "";
  const tf::GraphDebugInfo::FileLineCol* frame = nullptr;
  if (trace->file_line_cols_size() > 0) frame = &trace->file_line_cols(0);
  if (trace->frame_id_size() > 0) {
    auto it = info.frames_by_id().find(trace->frame_id(0));
    if (it != info.frames_by_id().end()) frame = &it->second;
  }
  if (frame == nullptr || frame->file_index() < 0 || frame->file_index() >= info.files_size()) return "";
  return absl::StrCat(info.files(frame->file_index()), ":", frame->line());
}

}  // namespace

absl::StatusOr<std::unique_ptr<Graph>> ImportGraphDef(const GraphDef& def, const ImportOptions& options) {
  auto graph = std::make_unique<Graph>();
  auto library = std::make_shared<FunctionLibrary>(options.allow_unknown_ops);
  graph->set_library(library);
  for (const FunctionDef& f : def.library().function()) {
    XC_RETURN_IF_ERROR(library->Add(f));
  }
  for (const NodeDef& n : def.node()) {
    XC_ASSIGN_OR_RETURN(Node node, StartNode(n, nullptr, options.allow_unknown_ops));
    if (graph->FindNode(node.name) != nullptr) {
      return absl::InvalidArgumentError(absl::StrCat("two nodes are named '", node.name, "'"));
    }
    if (def.has_debug_info()) node.source = SourceLine(def.debug_info(), node.name);
    graph->Add(std::move(node));
  }
  for (int id = 0; id < def.node_size(); ++id) {
    Node& node = graph->node(id);
    std::set<int> controls;
    for (const std::string& text : def.node(id).input()) {
      auto parsed = ParseTensorName(text);
      if (!parsed.ok()) return NodeError(node, std::string(parsed.status().message()));
      Node* src = graph->FindNode(parsed->first);
      if (src == nullptr) return NodeError(node, absl::StrCat("input '", text, "' does not exist"));
      if (parsed->second < 0) {
        if (controls.insert(src->id).second) node.control_inputs.push_back(src->id);
      } else {
        if (!controls.empty()) return NodeError(node, absl::StrCat("data input '", text, "' after a control input"));
        node.inputs.push_back({src->id, parsed->second});
      }
    }
  }
  XC_RETURN_IF_ERROR(Finish(*graph));
  return graph;
}

namespace {

// Names of a function body: arguments by their own name, results of nodes as "node:output_argument:index".
class BodyScope {
 public:
  explicit BodyScope(Graph& graph) : graph_(graph) {}
  std::map<std::string, std::vector<int>> args;  // argument name to its _Arg nodes

  absl::StatusOr<OutputRef> Resolve(const std::string& text) const {
    std::vector<std::string> parts = absl::StrSplit(text, ':');
    if (auto arg = args.find(parts[0]); arg != args.end()) {
      int index = 0;
      if (parts.size() > 1 && !absl::SimpleAtoi(parts.back(), &index)) index = -1;
      if (index < 0 || index >= static_cast<int>(arg->second.size())) return Missing(text);
      return OutputRef{arg->second[index], 0};
    }
    const Node* node = graph_.FindNode(parts[0]);
    if (node == nullptr) return Missing(text);
    int index = 0;
    if (parts.size() > 1 && !absl::SimpleAtoi(parts.back(), &index)) {
      if (parts.size() != 2) return Missing(text);
      index = 0;
    }
    if (index < 0) return Missing(text);
    if (parts.size() == 1 || (parts.size() == 2 && std::isdigit(parts[1][0])) || node->def == nullptr) {
      return OutputRef{node->id, index};
    }
    Node probe = *node;
    int base = 0;
    for (const ArgSignature& out : node->def->outputs) {
      probe.output_types.clear();
      XC_RETURN_IF_ERROR(ExpandArgs(probe, {out}, &probe.output_types));
      int width = probe.num_outputs();
      if (out.name == parts[1]) {
        if (index >= width) return Missing(text);
        return OutputRef{node->id, base + index};
      }
      base += width;
    }
    return Missing(text);
  }

 private:
  static absl::Status Missing(const std::string& text) {
    return absl::InvalidArgumentError(absl::StrCat("input '", text, "' does not exist in the function"));
  }
  Graph& graph_;
};

// Types of one signature argument of a function, given the attributes of the call.
absl::Status SignatureTypes(const tf::OpDef::ArgDef& arg, const NameAttrList& call, std::vector<DataType>* types) {
  auto find = [&](const std::string& name) -> const tf::AttrValue* {
    auto it = call.attr().find(name);
    return it == call.attr().end() ? nullptr : &it->second;
  };
  if (!arg.type_list_attr().empty()) {
    const tf::AttrValue* v = find(arg.type_list_attr());
    if (v == nullptr) return absl::InvalidArgumentError(absl::StrCat("argument '", arg.name(), "' has no types"));
    for (int t : v->list().type()) types->push_back(BaseType(static_cast<DataType>(t)));
    return absl::OkStatus();
  }
  DataType type = BaseType(arg.type());
  if (!arg.type_attr().empty()) {
    const tf::AttrValue* v = find(arg.type_attr());
    if (v == nullptr) return absl::InvalidArgumentError(absl::StrCat("argument '", arg.name(), "' has no type"));
    type = BaseType(v->type());
  }
  int64_t repeat = 1;
  if (!arg.number_attr().empty()) {
    const tf::AttrValue* v = find(arg.number_attr());
    if (v == nullptr || v->i() < 0 || v->i() > kMaxRepeat) {
      return absl::InvalidArgumentError(absl::StrCat("argument '", arg.name(), "' has no number"));
    }
    repeat = v->i();
  }
  types->insert(types->end(), repeat, type);
  return absl::OkStatus();
}

Node MakePort(const Graph& graph, const std::string& op, const std::string& base, DataType type, int index) {
  Node node;
  node.name = graph.UniqueName(base);
  node.op = op;
  node.attrs["T"].set_type(type);
  node.attrs["index"].set_i(index);
  node.def = FindOpDef(op);
  (op == "_Arg" ? node.output_types : node.input_types).push_back(type);
  return node;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Graph>> ImportFunction(const FunctionDef& def, const NameAttrList& call,
                                                      std::shared_ptr<FunctionLibrary> library,
                                                      const ImportOptions& options) {
  auto in_function = [&](const absl::Status& status) {
    return absl::Status(status.code(),
                        absl::StrCat("function '", def.signature().name(), "': ", absl::string_view(status.message())));
  };
  auto graph = std::make_unique<Graph>();
  graph->name = def.signature().name();
  graph->borrow_library(library);
  BodyScope scope(*graph);
  int index = 0;
  for (const auto& arg : def.signature().input_arg()) {
    std::vector<DataType> types;
    if (auto s = SignatureTypes(arg, call, &types); !s.ok()) return in_function(s);
    for (DataType type : types) {
      scope.args[arg.name()].push_back(graph->Add(MakePort(*graph, "_Arg", arg.name(), type, index++)).id);
    }
    scope.args.try_emplace(arg.name());
  }
  std::vector<int> ids;
  for (const NodeDef& n : def.node_def()) {
    auto node = StartNode(n, &call, options.allow_unknown_ops);
    if (!node.ok()) return in_function(node.status());
    if (graph->FindNode(node->name) != nullptr) {
      return in_function(absl::InvalidArgumentError(absl::StrCat("two nodes are named '", node->name, "'")));
    }
    ids.push_back(graph->Add(*std::move(node)).id);
  }
  for (int i = 0; i < def.node_def_size(); ++i) {
    Node& node = graph->node(ids[i]);
    for (const std::string& text : def.node_def(i).input()) {
      if (!text.empty() && text[0] == '^') {
        std::string name = text.substr(1);
        auto arg = scope.args.find(name);
        Node* src = graph->FindNode(name);
        if (src == nullptr && arg == scope.args.end()) {
          return in_function(NodeError(node, absl::StrCat("input '", text, "' does not exist")));
        }
        if (src != nullptr) node.control_inputs.push_back(src->id);
        continue;
      }
      auto ref = scope.Resolve(text);
      if (!ref.ok()) return in_function(NodeError(node, std::string(ref.status().message())));
      node.inputs.push_back(*ref);
    }
  }
  index = 0;
  for (const auto& out : def.signature().output_arg()) {
    std::vector<DataType> types;
    if (auto s = SignatureTypes(out, call, &types); !s.ok()) return in_function(s);
    auto it = def.ret().find(out.name());
    if (it == def.ret().end()) {
      return in_function(absl::InvalidArgumentError(absl::StrCat("result '", out.name(), "' has no value")));
    }
    auto ref = scope.Resolve(it->second);
    if (!ref.ok()) return in_function(ref.status());
    for (size_t i = 0; i < types.size(); ++i) {
      Node& ret = graph->Add(MakePort(*graph, "_Retval", out.name() + "_RetVal", types[i], index++));
      ret.inputs.push_back({ref->node, ref->index + static_cast<int>(i)});
    }
  }
  // What must run for its effect alone is kept alive by a control edge to the first result.
  std::vector<int> rets = graph->Retvals();
  for (const auto& control : def.control_ret()) {
    Node* src = graph->FindNode(control.second);
    if (src == nullptr) {
      return in_function(absl::InvalidArgumentError(absl::StrCat("control result '", control.second, "' is missing")));
    }
    for (int r : rets) graph->node(r).control_inputs.push_back(src->id);
  }
  if (auto s = Finish(*graph); !s.ok()) return in_function(s);
  return graph;
}

absl::StatusOr<GraphDef> ParseGraphDef(const std::string& bytes, bool text) {
  GraphDef def;
  if (text) {
    google::protobuf::TextFormat::Parser parser;
    TextErrors errors;
    parser.RecordErrorsTo(&errors);
    parser.SetRecursionLimit(200);
    if (!parser.ParseFromString(bytes, &def)) {
      return absl::InvalidArgumentError(absl::StrCat("not a textual GraphDef: ", errors.text()));
    }
    return def;
  }
  google::protobuf::io::ArrayInputStream raw(bytes.data(), static_cast<int>(bytes.size()));
  google::protobuf::io::CodedInputStream in(&raw);
  in.SetRecursionLimit(200);
  if (bytes.size() > INT32_MAX || !def.ParseFromCodedStream(&in) || !in.ConsumedEntireMessage()) {
    return absl::InvalidArgumentError("not a GraphDef: the bytes are truncated or damaged");
  }
  return def;
}

namespace {

// Whether bytes that are no message can be meant as text.
bool LooksLikeText(absl::string_view bytes) {
  return absl::c_all_of(bytes.substr(0, 256), [](char c) { return absl::ascii_isprint(c) || absl::ascii_isspace(c); });
}

}  // namespace

absl::StatusOr<GraphDef> ReadGraphDef(const std::string& path) {
  XC_ASSIGN_OR_RETURN(std::string bytes, ReadFile(path));
  const bool text = absl::EndsWith(path, ".pbtxt");
  auto def = ParseGraphDef(bytes, text);
  if (!def.ok() && !text && LooksLikeText(bytes)) def = ParseGraphDef(bytes, /*text=*/true);
  if (!def.ok()) return absl::InvalidArgumentError(absl::StrCat(path, ": ", absl::string_view(def.status().message())));
  return def;
}

GraphDef ExportGraphDef(const Graph& graph) {
  GraphDef def;
  for (int id = 0; id < graph.size(); ++id) {
    if (!graph.has(id)) continue;
    const Node& node = graph.node(id);
    NodeDef* out = def.add_node();
    out->set_name(node.name);
    out->set_op(node.op);
    out->set_device(node.device);
    for (const OutputRef& in : node.inputs) {
      const std::string& src = graph.node(in.node).name;
      out->add_input(in.index == 0 ? src : absl::StrCat(src, ":", in.index));
    }
    for (int c : node.control_inputs) out->add_input("^" + graph.node(c).name);
    for (const auto& attr : node.attrs) (*out->mutable_attr())[attr.first] = attr.second;
  }
  return def;
}

}  // namespace xc
