// Copies a part of a graph into a function: what some results need, down to borders that become arguments. Used to make
// bodies of loops and branches.
#ifndef XC_JIT_GRAPH_TRANSFORMS_EXTRACT_H_
#define XC_JIT_GRAPH_TRANSFORMS_EXTRACT_H_

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "jit/graph/graph.h"

namespace xc {

// What stands for an output of the original graph inside the function.
struct Border {
  enum Kind { kInside, kArgument, kTrue, kAlias, kError } kind = kInside;
  int argument = -1;  // kArgument
  OutputRef alias;    // kAlias: another output, to be looked up in turn
  std::string error;  // kError
};

class Extractor {
 public:
  // `data` decides about each output that is met, `control` whether a control edge from that node is followed.
  Extractor(const Graph& from, std::string name, std::function<Border(OutputRef)> data,
            std::function<bool(int)> control);

  void AddResult(OutputRef ref) { results_.push_back(ref); }
  // A result that is a constant.
  void AddConstantResult(int32_t value) { constant_results_.push_back(value); }
  // A node that must run whatever the results need.
  void AddEffect(int node) { effects_.push_back(node); }

  // Finds what must be copied; after the results and effects are known. An error says which node does not fit.
  absl::Status Collect();
  // Copies it, with arguments of these types; `order` is a topological order of the original graph.
  absl::Status Copy(const std::vector<int>& order, const std::vector<DataType>& types);

  const std::shared_ptr<Graph>& graph() const { return graph_; }
  const std::map<int, int>& copied() const { return copied_; }

 private:
  // The argument, constant or copied node output behind `ref`.
  absl::StatusOr<Border> Resolve(OutputRef ref) const;
  absl::StatusOr<OutputRef> Inside(OutputRef ref);
  int TrueConstant();

  const Graph& from_;
  std::function<Border(OutputRef)> data_;
  std::function<bool(int)> control_;
  std::shared_ptr<Graph> graph_;
  std::vector<int> args_;
  std::vector<OutputRef> results_;
  std::vector<int32_t> constant_results_;
  std::vector<int> effects_;
  std::set<int> needed_;
  std::map<int, int> copied_;
  int true_ = -1;
};

// A Const node of `value`, not yet in the graph, with a name like `base` that is new there.
Node ConstantNode(const Graph& graph, const std::string& base, Tensor value);
// An _Arg or _Retval node.
Node PortNode(const Graph& graph, const std::string& op, const std::string& base, DataType type, int index);

// A name that no function of the graph's library has. It begins with the graph's own, so that graphs which are worked
// on at the same time do not get in each other's way.
std::string NewFunctionName(const Graph& graph, const std::string& base);

// Whether any op of the body has state or effects.
bool HasState(const Graph& graph);

}  // namespace xc

#endif  // XC_JIT_GRAPH_TRANSFORMS_EXTRACT_H_
