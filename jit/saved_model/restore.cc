#include "jit/saved_model/restore.h"

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"
#include "jit/kernels/state/tables.h"

namespace xc {
namespace {

constexpr int kMaxDepth = 64;

// What is known of a value on an edge.
struct Known {
  enum Kind { kNothing, kHandle, kTable, kStrings, kRestored } kind = kNothing;
  std::string name;  // of the variable, or the key of the restored tensor
  DataType type = DT_INVALID;
  const Node* table = nullptr;
  std::vector<std::string> strings;
};

class Follower {
 public:
  Restored found;

  absl::StatusOr<std::vector<Known>> Follow(const Graph& graph, const std::vector<Known>& args, int depth) {
    if (depth > kMaxDepth) return absl::InvalidArgumentError("functions call each other too deeply");
    std::vector<std::vector<Known>> values(graph.size());
    std::vector<Known> results;
    XC_ASSIGN_OR_RETURN(std::vector<int> order, graph.TopologicalOrder());
    for (int id : order) {
      const Node& node = graph.node(id);
      std::vector<Known>& out = values[id];
      out.resize(node.num_outputs());
      std::vector<Known> in;
      for (const OutputRef& ref : node.inputs) {
        bool has = ref.index < static_cast<int>(values[ref.node].size());
        in.push_back(has ? values[ref.node][ref.index] : Known());
      }
      if (node.op == "_Arg") {
        int64_t index = node.Int("index").value_or(-1);
        if (index >= 0 && index < static_cast<int64_t>(args.size())) out[0] = args[index];
      } else if (node.op == "_Retval") {
        int64_t index = node.Int("index").value_or(-1);
        if (index >= 0 && index < (1 << 20) && !in.empty()) {
          if (static_cast<int64_t>(results.size()) <= index) results.resize(index + 1);
          results[index] = in[0];
        }
      } else if (node.op == "VarHandleOp" || node.op == "VariableV2" || node.op == "Variable") {
        out[0].kind = Known::kHandle;
        out[0].name = node.String("shared_name").value_or("");
        if (out[0].name.empty()) out[0].name = node.name;
        out[0].type = node.Type("dtype").value_or(DT_INVALID);
      } else if (node.op == "Const") {
        if (node.constant != nullptr && node.constant->tensor.dtype() == DT_STRING) {
          out[0].kind = Known::kStrings;
          out[0].strings = node.constant->tensor.strings();
        }
      } else if (node.op == "Identity") {
        if (!in.empty() && !out.empty()) out[0] = in[0];
      } else if (node.op == "RestoreV2") {
        XC_RETURN_IF_ERROR(Restore(node, in, &out));
      } else if (node.op == "AssignVariableOp" || node.op == "Assign") {
        if (in.size() >= 2 && in[0].kind == Known::kHandle && in[1].kind == Known::kRestored) {
          found.variables.push_back({in[0].name, in[0].type, in[1].name});
        }
      } else if (IsTable(node.op)) {
        out[0].kind = Known::kTable;
        out[0].table = &node;
      } else if (node.op == "LookupTableImportV2") {
        if (in.size() == 3 && in[0].kind == Known::kTable && in[1].kind == Known::kRestored &&
            in[2].kind == Known::kRestored) {
          found.tables.push_back({*in[0].table, in[1].name, in[2].name});
        }
      } else if (node.op == "PartitionedCall" || node.op == "StatefulPartitionedCall") {
        XC_ASSIGN_OR_RETURN(NameAttrList f, node.Func("f"));
        const auto library = graph.library();
        if (library == nullptr) return absl::InvalidArgumentError("the graph has no functions");
        XC_ASSIGN_OR_RETURN(auto body, library->Instantiate(f, library));
        XC_ASSIGN_OR_RETURN(std::vector<Known> given, Follow(*body, in, depth + 1));
        given.resize(node.num_outputs());
        out = std::move(given);
      }
    }
    return results;
  }

 private:
  static absl::Status Restore(const Node& node, const std::vector<Known>& in, std::vector<Known>* out) {
    if (in.size() != 3 || in[1].kind != Known::kStrings || in[1].strings.size() != out->size()) {
      return absl::UnimplementedError(absl::StrCat("node '", node.name, "': the names to restore are not constant"));
    }
    for (size_t i = 0; i < out->size(); ++i) {
      if (in[2].kind == Known::kStrings && i < in[2].strings.size() && !in[2].strings[i].empty()) {
        return absl::UnimplementedError(
            absl::StrCat("node '", node.name, "': '", in[1].strings[i], "' is restored from parts"));
      }
      (*out)[i].kind = Known::kRestored;
      (*out)[i].name = in[1].strings[i];
    }
    return absl::OkStatus();
  }
};

}  // namespace

absl::StatusOr<Restored> FindRestored(const Graph& graph) {
  Follower follower;
  XC_RETURN_IF_ERROR(follower.Follow(graph, {}, 0).status());
  return std::move(follower.found);
}

}  // namespace xc
