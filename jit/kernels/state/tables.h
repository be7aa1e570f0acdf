// Lookup tables from outside of kernels: which nodes make and fill them, and filling them from a checkpoint.
#ifndef XC_JIT_KERNELS_STATE_TABLES_H_
#define XC_JIT_KERNELS_STATE_TABLES_H_

#include "absl/status/status.h"
#include "jit/graph/graph.h"
#include "jit/kernels/state/resources.h"

namespace xc {

// Whether the op gives the handle of a table that the session keeps.
bool IsTable(const std::string& op);

// Whether the op fills the table whose handle is its first operand.
bool IsTableInitializer(const std::string& op);

// Makes `keys` and `values` the content of the table that the node `table` gives.
absl::Status FillTable(ResourceStore& store, const Node& table, const Tensor& keys, const Tensor& values);

}  // namespace xc

#endif  // XC_JIT_KERNELS_STATE_TABLES_H_
