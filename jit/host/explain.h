// What clustering made of a graph, for people: clusters with what they were compiled for and how long they take, and
// for every other op why it is in none and what would change that.
#ifndef XC_JIT_HOST_EXPLAIN_H_
#define XC_JIT_HOST_EXPLAIN_H_

#include <string>

#include "jit/host/executor.h"

namespace xc {

// As text, functions that were run included.
std::string ExplainText(const GraphExecutor& executor);

// The ops of cluster `k`, such as "AddV2×3 MatMul".
std::string ClusterOps(const GraphExecutor& executor, int k);

// As one page of HTML without references to other files: the graph with compiled ops in green and the bodies of the
// functions that ran inside their calls, and tables of clusters and of what is not compiled.
std::string ExplainHtml(const GraphExecutor& executor);

// What a user can do about a reason of marking; empty if nothing simple helps.
std::string WhatWouldChange(const std::string& reason);

}  // namespace xc

#endif  // XC_JIT_HOST_EXPLAIN_H_
