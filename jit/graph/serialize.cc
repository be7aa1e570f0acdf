#include "jit/graph/serialize.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <map>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

// Functions named by attributes of `graph`.
std::vector<NameAttrList> Calls(const Graph& graph) {
  std::vector<NameAttrList> calls;
  for (int id = 0; id < graph.size(); ++id) {
    if (!graph.has(id)) continue;
    for (const auto& attr : graph.node(id).attrs) {
      if (attr.second.value_case() == tf::AttrValue::kFunc) calls.push_back(attr.second.func());
      if (attr.second.value_case() == tf::AttrValue::kList) {
        calls.insert(calls.end(), attr.second.list().func().begin(), attr.second.list().func().end());
      }
    }
  }
  return calls;
}

// How many tensors one output argument of `node` stands for.
int64_t CountOf(const Node& node, const ArgSignature& output) {
  if (!output.number_attr.empty()) return node.Int(output.number_attr).value_or(1);
  if (!output.type_list_attr.empty())
    return static_cast<int64_t>(node.Types(output.type_list_attr).value_or(std::vector<DataType>()).size());
  return 1;
}

// Output `index` in the form of a FunctionDef: the output argument, and the position in it.
std::string OutputName(const Node& node, int index) {
  int64_t first = 0;
  if (node.def != nullptr) {
    for (const ArgSignature& output : node.def->outputs) {
      int64_t count = CountOf(node, output);
      if (index < first + count) return absl::StrCat(output.name, ":", index - first);
      first += count;
    }
  }
  return absl::StrCat(index);
}

// The definitions of all functions reached from `graph`. One name must stand for one body: a function that is called
// with several values of its attributes is refused.
absl::Status Collect(const Graph& graph, std::map<std::string, std::shared_ptr<const Graph>>* seen,
                     tf::FunctionDefLibrary* library) {
  for (const NameAttrList& call : Calls(graph)) {
    const auto functions = graph.library();
    if (functions == nullptr) return absl::NotFoundError(absl::StrCat("no library has '", call.name(), "'"));
    XC_ASSIGN_OR_RETURN(auto body, functions->Instantiate(call, functions));
    auto [it, fresh] = seen->emplace(call.name(), body);
    if (it->second != body) {
      return absl::UnimplementedError(absl::StrCat("function '", call.name(), "' is called with different attributes"));
    }
    if (!fresh) continue;
    *library->add_function() = ToFunctionDef(*body, call.name());
    XC_RETURN_IF_ERROR(Collect(*body, seen, library));
  }
  return absl::OkStatus();
}

}  // namespace

FunctionDef ToFunctionDef(const Graph& body, const std::string& name) {
  FunctionDef def;
  def.mutable_signature()->set_name(name);
  for (int id : body.Args()) {
    auto* arg = def.mutable_signature()->add_input_arg();
    arg->set_name(body.node(id).name);
    arg->set_type(body.node(id).output_types[0]);
  }
  auto ref_text = [&](const OutputRef& ref) {
    const Node& src = body.node(ref.node);
    return src.op == "_Arg" ? src.name : absl::StrCat(src.name, ":", OutputName(src, ref.index));
  };
  for (int id : body.Retvals()) {
    const Node& ret = body.node(id);
    auto* out = def.mutable_signature()->add_output_arg();
    out->set_name(ret.name);
    out->set_type(ret.input_types[0]);
    (*def.mutable_ret())[ret.name] = ref_text(ret.inputs[0]);
    for (int c : ret.control_inputs) (*def.mutable_control_ret())[body.node(c).name] = body.node(c).name;
  }
  GraphDef nodes = ExportGraphDef(body);
  for (NodeDef& node : *nodes.mutable_node()) {
    if (node.op() == "_Arg" || node.op() == "_Retval") continue;
    const Node& from = *body.FindNode(node.name());
    for (size_t i = 0; i < from.inputs.size(); ++i) node.set_input(static_cast<int>(i), ref_text(from.inputs[i]));
    *def.add_node_def() = std::move(node);
  }
  return def;
}

absl::StatusOr<std::string> SerializeGraph(const Graph& graph) {
  GraphDef def = ExportGraphDef(graph);
  std::map<std::string, std::shared_ptr<const Graph>> seen;
  XC_RETURN_IF_ERROR(Collect(graph, &seen, def.mutable_library()));
  std::string out;
  {
    google::protobuf::io::StringOutputStream stream(&out);
    google::protobuf::io::CodedOutputStream coded(&stream);
    coded.SetSerializationDeterministic(true);
    if (def.ByteSizeLong() > INT32_MAX || !def.SerializeToCodedStream(&coded)) {
      return absl::ResourceExhaustedError(absl::StrCat("graph '", graph.name, "' is too large to serialize"));
    }
  }
  return out;
}

absl::StatusOr<std::unique_ptr<Graph>> ParseSerializedGraph(const std::string& bytes) {
  XC_ASSIGN_OR_RETURN(GraphDef def, ParseGraphDef(bytes, /*text=*/false));
  return ImportGraphDef(def);
}

}  // namespace xc
