#include "jit/saved_model/saved_model.h"

#include <map>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hlo/base/status.h"
#include "jit/kernels/state/tables.h"
#include "jit/saved_model/checkpoint.h"
#include "jit/saved_model/restore.h"
#include "proto/checkpoint.pb.h"
#include "proto/saved_model.pb.h"
#include "service/files.h"

namespace xc {
namespace {

absl::StatusOr<tf::MetaGraphDef> ReadMetaGraph(const std::string& directory, const std::string& tag) {
  std::string path = directory + "/saved_model.pb";
  XC_ASSIGN_OR_RETURN(std::string bytes, ReadFile(path));
  tf::SavedModel model;
  if (!model.ParseFromString(bytes)) {
    return absl::InvalidArgumentError(absl::StrCat("'", path, "' is not a valid SavedModel"));
  }
  std::set<std::string> known;
  for (tf::MetaGraphDef& meta : *model.mutable_meta_graphs()) {
    for (const std::string& t : meta.meta_info_def().tags()) {
      if (t == tag) return std::move(meta);
      known.insert(t);
    }
  }
  return absl::NotFoundError(absl::StrCat("'", path, "' has no graph tagged '", tag,
                                          "'; its tags: ", known.empty() ? "none" : absl::StrJoin(known, ", ")));
}

// The nodes that `roots` need, with all functions: what saves and what other signatures use may have ops that nothing
// here knows.
GraphDef Needed(const GraphDef& def, const std::vector<std::string>& roots) {
  std::map<std::string, const NodeDef*> by_name;
  for (const NodeDef& n : def.node()) by_name[n.name()] = &n;
  std::set<std::string> needed;
  std::vector<std::string> todo = roots;
  while (!todo.empty()) {
    std::string name = std::move(todo.back());
    todo.pop_back();
    auto it = by_name.find(name);
    if (it == by_name.end() || !needed.insert(name).second) continue;
    for (const std::string& input : it->second->input()) {
      size_t start = input[0] == '^' ? 1 : 0;
      todo.push_back(input.substr(start, input.find(':', start) - start));
    }
  }
  GraphDef out;
  *out.mutable_library() = def.library();
  *out.mutable_versions() = def.versions();
  for (const NodeDef& n : def.node()) {
    if (needed.count(n.name()) != 0) *out.add_node() = n;
  }
  return out;
}

std::string NodeOf(const std::string& tensor) { return tensor.substr(0, tensor.find(':')); }

absl::Status ReadPorts(const google::protobuf::Map<std::string, tf::TensorInfo>& ports, std::vector<std::string>* names,
                       std::vector<std::string>* tensors) {
  std::map<std::string, tf::TensorInfo> sorted(ports.begin(), ports.end());
  for (const auto& [name, info] : sorted) {
    if (info.name().empty()) {
      return absl::UnimplementedError(absl::StrCat("'", name, "' of the signature is not a dense tensor"));
    }
    names->push_back(name);
    tensors->push_back(info.name());
  }
  return absl::OkStatus();
}

absl::Status FillVariable(const Checkpoint& checkpoint, const RestoredVariable& v, ResourceStore& resources) {
  XC_ASSIGN_OR_RETURN(Tensor value, checkpoint.Read(v.key));
  if (value.dtype() != v.type) {
    return absl::DataLossError(absl::StrCat("variable '", v.variable, "' is ", DataTypeName(v.type),
                                            ", the checkpoint has ", value.ShapeString()));
  }
  std::shared_ptr<Variable> variable = resources.GetVariable(v.variable, v.type);
  std::lock_guard<std::mutex> lock(variable->mutex);
  variable->value = std::move(value);
  return absl::OkStatus();
}

// Variables of the graph that are not in `filled`, by the names that the checkpoint has for its objects. Keras 3 inside
// a tf.Module needs this: what is restored there are handles of other names, which nothing reads.
absl::StatusOr<std::vector<RestoredVariable>> FindByObjects(const Checkpoint& checkpoint, const GraphDef& graph,
                                                            const std::set<std::string>& filled) {
  constexpr char kObjects[] = "_CHECKPOINTABLE_OBJECT_GRAPH";
  std::vector<RestoredVariable> missing, found;
  for (const NodeDef& node : graph.node()) {
    if (node.op() != "VarHandleOp" || node.attr().count("dtype") == 0) continue;
    const auto shared = node.attr().find("shared_name");
    const bool named = shared != node.attr().end() && !shared->second.s().empty();
    const std::string& name = named ? shared->second.s() : node.name();
    if (filled.count(name) == 0) missing.push_back({name, node.attr().at("dtype").type(), ""});
  }
  if (missing.empty() || !checkpoint.Has(kObjects)) return found;
  XC_ASSIGN_OR_RETURN(const Tensor bytes, checkpoint.Read(kObjects));
  tf::TrackableObjectGraph objects;
  if (bytes.dtype() != DT_STRING || bytes.num_elements() != 1 || !objects.ParseFromString(bytes.strings()[0])) {
    return absl::DataLossError("what the checkpoint says of its objects cannot be read");
  }
  std::map<std::string, std::string> keys;  // by the variable's name; none where two have the same name
  for (const auto& object : objects.nodes()) {
    for (const auto& tensor : object.attributes()) {
      if (tensor.name() != "VARIABLE_VALUE") continue;
      const auto [at, fresh] = keys.emplace(tensor.full_name(), tensor.checkpoint_key());
      if (!fresh && at->second != tensor.checkpoint_key()) at->second.clear();
    }
  }
  for (RestoredVariable& variable : missing) {
    const auto key = keys.find(variable.variable);
    if (key == keys.end() || !checkpoint.Has(key->second)) continue;
    variable.key = key->second;
    found.push_back(std::move(variable));
  }
  return found;
}

// Fills variables and tables from the checkpoint, as the nodes that restore them would.
absl::Status Restore(const std::string& directory, const tf::MetaGraphDef& meta, ResourceStore& resources) {
  std::string prefix = directory + "/variables/variables";
  if (meta.saver_def().restore_op_name().empty() || !FileExists(prefix + ".index")) return absl::OkStatus();
  GraphDef restore = Needed(meta.graph_def(), {NodeOf(meta.saver_def().restore_op_name())});
  ImportOptions import;
  import.allow_unknown_ops = true;
  XC_ASSIGN_OR_RETURN(std::unique_ptr<Graph> graph, ImportGraphDef(restore, import));
  XC_ASSIGN_OR_RETURN(Restored restored, FindRestored(*graph));
  XC_ASSIGN_OR_RETURN(Checkpoint checkpoint, Checkpoint::Open(prefix));
  std::set<std::string> filled;
  for (const RestoredVariable& v : restored.variables) {
    XC_RETURN_IF_ERROR(FillVariable(checkpoint, v, resources));
    filled.insert(v.variable);
  }
  XC_ASSIGN_OR_RETURN(const std::vector<RestoredVariable> others, FindByObjects(checkpoint, meta.graph_def(), filled));
  for (const RestoredVariable& v : others) XC_RETURN_IF_ERROR(FillVariable(checkpoint, v, resources));
  for (const RestoredTable& t : restored.tables) {
    XC_ASSIGN_OR_RETURN(Tensor keys, checkpoint.Read(t.keys));
    XC_ASSIGN_OR_RETURN(Tensor values, checkpoint.Read(t.values));
    XC_RETURN_IF_ERROR(FillTable(resources, t.table, keys, values));
  }
  return absl::OkStatus();
}

// The node that fills tables and the like when the model is loaded; empty if there is none.
std::string InitialNode(const tf::MetaGraphDef& meta) {
  if (auto it = meta.signature_def().find("__saved_model_init_op"); it != meta.signature_def().end()) {
    for (const auto& [name, info] : it->second.outputs()) return NodeOf(info.name());
  }
  for (const char* key : {"saved_model_main_op", "legacy_init_op"}) {
    auto it = meta.collection_def().find(key);
    if (it != meta.collection_def().end() && it->second.node_list().value_size() > 0) {
      return NodeOf(it->second.node_list().value(0));
    }
  }
  return "";
}

// Nodes that name files become constants, the paths of this directory's assets.
absl::Status PlaceAssets(const std::string& directory, tf::MetaGraphDef& meta) {
  std::map<std::string, std::string> paths;
  for (const auto& asset : meta.asset_file_def()) {
    std::string path = absl::StrCat(directory, "/assets/", asset.filename());
    if (!FileExists(path)) return absl::NotFoundError(absl::StrCat("the SavedModel has no file '", path, "'"));
    paths[NodeOf(asset.tensor_info().name())] = path;
  }
  for (NodeDef& n : *meta.mutable_graph_def()->mutable_node()) {
    auto it = paths.find(n.name());
    if (it == paths.end() || (n.op() != "Const" && n.op() != "Placeholder")) continue;
    n.set_op("Const");
    n.mutable_attr()->clear();
    (*n.mutable_attr())["dtype"].set_type(DT_STRING);
    TensorProto& value = *(*n.mutable_attr())["value"].mutable_tensor();
    value.set_dtype(DT_STRING);
    value.mutable_tensor_shape();
    value.add_string_val(it->second);
  }
  return absl::OkStatus();
}

}  // namespace

bool IsSavedModel(const std::string& directory) { return FileExists(directory + "/saved_model.pb"); }

absl::StatusOr<std::vector<std::string>> SavedModelSignatures(const std::string& directory, const std::string& tag) {
  XC_ASSIGN_OR_RETURN(tf::MetaGraphDef meta, ReadMetaGraph(directory, tag));
  std::set<std::string> names;
  for (const auto& s : meta.signature_def()) {
    if (s.first != "__saved_model_init_op") names.insert(s.first);
  }
  return std::vector<std::string>(names.begin(), names.end());
}

absl::StatusOr<std::unique_ptr<Session>> LoadSavedModel(const std::string& directory, SavedModelOptions options) {
  XC_ASSIGN_OR_RETURN(tf::MetaGraphDef meta, ReadMetaGraph(directory, options.tag));
  auto signature = meta.signature_def().find(options.signature);
  if (signature == meta.signature_def().end()) {
    XC_ASSIGN_OR_RETURN(std::vector<std::string> names, SavedModelSignatures(directory, options.tag));
    return absl::NotFoundError(absl::StrCat("the SavedModel has no signature '", options.signature,
                                            "'; it has: ", names.empty() ? "none" : absl::StrJoin(names, ", ")));
  }
  SessionOptions session_options;
  session_options.host = options.host;
  XC_RETURN_IF_ERROR(ReadPorts(signature->second.inputs(), &session_options.input_names, &session_options.inputs));
  XC_RETURN_IF_ERROR(ReadPorts(signature->second.outputs(), &session_options.output_names, &session_options.outputs));
  session_options.feed_nothing = session_options.inputs.empty();
  std::vector<std::string> roots;
  for (const std::string& t : session_options.inputs) roots.push_back(NodeOf(t));
  for (const std::string& t : session_options.outputs) roots.push_back(NodeOf(t));
  XC_RETURN_IF_ERROR(PlaceAssets(directory, meta));
  GraphDef needed = Needed(meta.graph_def(), roots);
  bool has_tables = false;
  for (const NodeDef& n : needed.node()) has_tables |= IsTable(n.op());
  if (std::string initial = InitialNode(meta); has_tables && !initial.empty()) {
    roots.push_back(initial);
    needed = Needed(meta.graph_def(), roots);
    session_options.initializers = {initial};
  }
  session_options.restore = [&](ResourceStore& resources) { return Restore(directory, meta, resources); };
  return Session::Create(needed, std::move(session_options));
}

}  // namespace xc
