#include "jit/lowering/callees.h"

#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace xc {

std::string ComputationName(const Graph& function) {
  std::string name = function.name;
  for (char& c : name) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '.' && c != '-') c = '_';
  }
  return name;
}

absl::StatusOr<std::shared_ptr<const Graph>> Body(OpContext& c, const NameAttrList& name) {
  const auto library = c.graph.graph().library();
  if (library == nullptr) return c.Error("calls a function, but the graph has no library");
  auto body = library->Instantiate(name, library);
  if (!body.ok()) return c.Error(std::string(body.status().message()));
  return *body;
}

std::vector<NameAttrList> CalleesOf(const Node& node) {
  std::vector<NameAttrList> out = node.Funcs("branches").value_or(std::vector<NameAttrList>());
  for (const char* key : {"cond", "body", "then_branch", "else_branch", "f"}) {
    if (auto f = node.Func(key); f.ok()) out.push_back(*std::move(f));
  }
  return out;
}

absl::StatusOr<std::vector<LoweredValue>> LowerInline(OpContext& c, const Graph& function,
                                                      std::vector<LoweredValue> args, int first_operand) {
  GraphLowering nested(function, c.b, c.graph.depth() + 1);
  auto results = nested.Run(std::move(args));
  if (!results.ok()) return NestedError(c, nested, results.status(), first_operand);
  if (Val check = nested.TakeChecks(c.b); check != nullptr) c.FailIf(check);
  return results;
}

absl::Status Flatten(OpContext& c, GraphLowering& graph, Emitter& b, LoweredValue& v, std::vector<Val>* leaves) {
  if (v.list != nullptr) {
    if (v.list->items == nullptr) return c.Unimplemented("a TensorList whose element shape is not known");
    leaves->push_back(v.list->items);
    if (v.list->size != nullptr) leaves->push_back(v.list->size);
  } else if (v.dynamic != nullptr) {
    leaves->insert(leaves->end(), {v.dynamic->items, v.dynamic->size});
  } else if (v.variable != nullptr) {
    if (!v.variable->initialized) return c.Unimplemented("a variable without a value");
    leaves->push_back(graph.Materialize(v.variable->value, b));
  } else if (v.array != nullptr || v.constant != nullptr) {
    leaves->push_back(graph.Materialize(v, b));
  } else {
    return c.Unimplemented("a value that is neither an array nor a TensorList");
  }
  return absl::OkStatus();
}

LoweredValue Rebuild(const LoweredValue& model, Emitter& b, Val tuple, int* at, VariableSlot* slot) {
  LoweredValue v;
  v.type = model.type;
  Val leaf = b.Get(tuple, (*at)++);
  if (model.list != nullptr) {
    v.list = std::make_shared<ListValue>(*model.list);
    v.list->items = leaf;
    if (v.list->size != nullptr) v.list->size = b.Get(tuple, (*at)++);
  } else if (model.dynamic != nullptr) {
    DynamicArray dynamic = *model.dynamic;
    dynamic.items = leaf;
    dynamic.size = b.Get(tuple, (*at)++);
    v.dims = leaf->shape().dims();
    v.dynamic = std::make_shared<const DynamicArray>(std::move(dynamic));
  } else if (model.variable != nullptr) {
    slot->type = model.variable->type;
    slot->value = LoweredValue();
    slot->value.type = slot->type;
    slot->value.array = leaf;
    slot->value.dims = leaf->shape().dims();
    slot->initialized = true;
    slot->written = false;
    v.variable = slot;
  } else {
    v.array = leaf;
    v.dims = leaf->shape().dims();
  }
  return v;
}

absl::Status NestedError(OpContext& c, const GraphLowering& nested, const absl::Status& status, int first_operand) {
  bool asked = false;
  for (int arg : nested.needed_args()) {
    int operand = arg + first_operand;
    if (operand < c.num_inputs() && c.value(operand).constant == nullptr && c.value(operand).list == nullptr) {
      (void)c.graph.RequestConstant(c.node, operand);
      asked = true;
    }
  }
  if (!nested.needed_args().empty() && !asked) {
    return absl::UnimplementedError(
        absl::StrCat(absl::string_view(status.message()), "; it is computed from a value that changes in the loop"));
  }
  if (status.code() == absl::StatusCode::kFailedPrecondition && !asked && c.graph.needed_args().empty()) {
    // Nothing that could be given would help.
    return absl::UnimplementedError(status.message());
  }
  return status;
}

}  // namespace xc
