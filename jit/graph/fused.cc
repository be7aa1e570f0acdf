#include "jit/graph/fused.h"

#include <map>

namespace xc {
namespace {

// Parts of an activation that has a name only among fused ops.
const std::map<std::string, std::vector<std::string>>& Activations() {
  static const auto* const kParts = new std::map<std::string, std::vector<std::string>>{
      {"_MklSwish", {"Sigmoid", "Mul"}},        {"_MklFusedMish", {"Softplus", "Tanh", "Mul"}},
      {"Mish", {"Softplus", "Tanh", "Mul"}},    {"_FusedHardSwish", {"AddV2", "Relu6", "Mul"}},
      {"GeluExact", {"Mul", "Erf", "AddV2"}},   {"GeluApproximate", {"Mul", "AddV2", "Tanh"}},
      {"FusedBatchNorm", {"FusedBatchNormV3"}}, {"Add", {"AddV2"}},
  };
  return *kParts;
}

void AddParts(const std::string& op, std::vector<std::string>* out) {
  auto parts = Activations().find(op);
  if (parts == Activations().end()) {
    out->push_back(op);
  } else {
    out->insert(out->end(), parts->second.begin(), parts->second.end());
  }
}

}  // namespace

std::vector<std::string> OpsOf(const Node& node) {
  // What the others start from.
  static const auto* const kFirst = new std::map<std::string, std::vector<std::string>>{
      {"_FusedMatMul", {"MatMul"}},
      {"_FusedConv2D", {"Conv2D"}},
      {"_FusedConv3D", {"Conv3D"}},
      {"_FusedDepthwiseConv2dNative", {"DepthwiseConv2dNative"}},
      {"_MklFusedBatchMatMulV2", {"BatchMatMulV2"}},
      {"_FusedBatchNormEx", {"FusedBatchNormV3"}},
      {"_MklLayerNorm", {"FusedBatchNormV3", "Mul", "AddV2"}},
      {"_MklFusedInstanceNorm", {"Mean", "SquaredDifference", "Rsqrt", "Mul", "Sub", "AddV2"}},
      {"_UnaryOpsComposition", {}},
      {"_MklSwish", {"Sigmoid", "Mul"}},
      {"_MklFusedMish", {"Softplus", "Tanh", "Mul"}},
  };
  auto first = kFirst->find(node.op);
  if (first == kFirst->end()) return {node.op};
  std::vector<std::string> out = first->second;
  for (const char* key : {"fused_ops", "op_names"}) {
    if (node.FindAttr(key) == nullptr) continue;
    if (auto ops = node.Strings(key); ops.ok()) {
      for (const std::string& op : *ops) AddParts(op, &out);
    }
  }
  if (node.op == "_FusedBatchNormEx") {
    if (auto mode = node.String("activation_mode"); mode.ok() && *mode != "Identity") out.push_back(*mode);
  }
  return out.empty() ? std::vector<std::string>{node.op} : out;
}

}  // namespace xc
