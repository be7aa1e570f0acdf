// Host kernels with effects: variables, Assert, Print.
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "jit/kernels/kernel.h"

namespace xc {
namespace {

absl::StatusOr<std::shared_ptr<Variable>> Var(const KernelContext& c, int i) {
  if (c.in(i).variable() == nullptr) return c.Error(absl::StrCat("operand ", i, " is not a variable"));
  return c.in(i).variable();
}

absl::Status ReadVariable(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto variable, Var(c, 0));
  std::lock_guard<std::mutex> lock(variable->mutex);
  if (!variable->value.initialized()) {
    return absl::FailedPreconditionError(
        absl::StrCat("node '", c.node.name, "': variable '", variable->name, "' is not initialized"));
  }
  c.outputs[0] = variable->value;
  return absl::OkStatus();
}

absl::Status AssignVariable(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto variable, Var(c, 0));
  std::lock_guard<std::mutex> lock(variable->mutex);
  variable->type = c.in(1).dtype();
  variable->value = c.in(1);
  return absl::OkStatus();
}

absl::Status IsInitialized(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto variable, Var(c, 0));
  std::lock_guard<std::mutex> lock(variable->mutex);
  c.outputs[0] = Tensor::Scalar<uint8_t>(DT_BOOL, variable->value.initialized());
  return absl::OkStatus();
}

absl::Status VariableShape(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(auto variable, Var(c, 0));
  std::lock_guard<std::mutex> lock(variable->mutex);
  const Dims& dims = variable->value.dims();
  c.outputs[0] = Tensor::Integers(c.node.output_types[0], dims);
  return absl::OkStatus();
}

absl::Status Assert(KernelContext& c) {
  if (c.in(0).num_elements() != 1 || c.in(0).dtype() != DT_BOOL) return c.Error("condition must be a bool scalar");
  if (c.in(0).data<uint8_t>()[0]) return absl::OkStatus();
  std::string message;
  for (int i = 1; i < c.num_inputs(); ++i) absl::StrAppend(&message, " ", c.in(i).Summary());
  return absl::InvalidArgumentError(absl::StrCat("node '", c.node.name, "': assertion failed:", message));
}

absl::Status Print(KernelContext& c) {
  std::string text =
      c.in(0).dtype() == DT_STRING && c.in(0).num_elements() == 1 ? c.in(0).strings()[0] : c.in(0).Summary(64);
  std::fprintf(stderr, "%s\n", text.c_str());
  if (!c.outputs.empty()) c.outputs[0] = c.in(0);
  return absl::OkStatus();
}

absl::Status Nothing(KernelContext&) { return absl::OkStatus(); }

}  // namespace

void RegisterStateKernels(KernelRegistry& r) {
  r.Add({"ReadVariableOp"}, ReadVariable, false);
  r.Add({"AssignVariableOp"}, AssignVariable, false);
  r.Add({"VarIsInitializedOp"}, IsInitialized, false);
  r.Add({"VariableShape"}, VariableShape, false);
  r.Add({"Assert"}, Assert, false);
  r.Add({"Print", "PrintV2"}, Print, false);
  r.Add({"NoOp", "ControlTrigger", "DestroyResourceOp", "DisableCopyOnRead"}, Nothing, false);
}

}  // namespace xc
