// Cases of single ops with what TensorFlow gives for them, recorded by tests/tf_ops/record.py.
#ifndef XC_JIT_OP_CASES_OP_CASES_H_
#define XC_JIT_OP_CASES_OP_CASES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "jit/graph/graph.h"

namespace xc {

struct OpCase {
  std::string op, name;
  GraphDef graph;
  std::vector<std::string> feeds, fetches;  // tensors
  std::vector<Tensor> inputs, wanted;       // their values
  bool compiled = false;                    // the whole graph forms one cluster
};

// The cases of a file.
absl::StatusOr<std::vector<OpCase>> ReadOpCases(const std::string& path);

// How `got` differs from what TensorFlow gives; empty if it does not but for rounding.
std::string Difference(const Tensor& got, const Tensor& wanted);

}  // namespace xc

#endif  // XC_JIT_OP_CASES_OP_CASES_H_
