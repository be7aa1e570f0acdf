// Lowers a whole host graph (a cluster or a function body) into HLO, given the shapes of its arguments.
#ifndef XC_JIT_LOWERING_GRAPH_LOWERING_H_
#define XC_JIT_LOWERING_GRAPH_LOWERING_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "jit/lowering/lowering.h"

namespace xc {

// One lowering run of one graph into one computation. Bodies of control flow are lowered by nested instances.
class GraphLowering {
 public:
  GraphLowering(const Graph& graph, Emitter& emitter, int depth = 0)
      : graph_(graph), emitter_(emitter), depth_(depth) {}

  // Values of the results, in order, given those of the arguments.
  absl::StatusOr<std::vector<LoweredValue>> Run(std::vector<LoweredValue> args);

  const Graph& graph() const { return graph_; }
  int depth() const { return depth_; }

  // The value as an instruction of `emitter`'s computation; constants are emitted once per computation.
  Val Materialize(LoweredValue& value, Emitter& emitter);

  // Reports that input `i` of `node` must be constant: notes the graph's arguments that it is computed from in
  // needed_args(). The status says what cannot be constant.
  absl::Status RequestConstant(const Node& node, int i);
  const std::set<int>& needed_args() const { return needed_args_; }
  bool needs_args() const { return !needed_args_.empty(); }
  const std::string& failed_node() const { return failed_node_; }
  void AddNeededArgs(const std::set<int>& args) { needed_args_.insert(args.begin(), args.end()); }

  // Notes that the run is wrong where any element of `bad` holds: the host must then run the ops one by one, so that
  // the op in question gives its error.
  void AddCheck(Emitter& emitter, Val bad);
  // The checks so far as one pred scalar; null if there are none.
  Val TakeChecks(Emitter& emitter);

 private:
  absl::Status LowerNode(const Node& node);
  // Evaluates a node of constant inputs with its host kernel; false when that is not possible or too large.
  bool TryFold(const Node& node, const std::vector<LoweredValue>& inputs, std::vector<LoweredValue>* outputs);
  // Where code is made that serves several sizes: arrays that sizes make, or that are computed from such, are computed
  // as well as known, so that larger ones, which are too large to be known, make the same program.
  void AlsoCompute(const Node& node, const std::vector<LoweredValue>& inputs, std::vector<LoweredValue>* outputs);

  const Graph& graph_;
  Emitter& emitter_;
  int depth_;
  std::vector<LoweredValue> args_;
  std::vector<LoweredValue> results_;
  std::vector<std::vector<LoweredValue>> values_;
  std::map<const Literal*, Val> constants_;
  std::set<int> needed_args_;
  std::string failed_node_;
  std::vector<Val> checks_;
};

// The function that `c` calls, as a computation on scalars of the given types; with several results it gives a tuple.
absl::StatusOr<HloComputation*> LowerFunction(OpContext& c, const NameAttrList& function,
                                              const std::vector<DataType>& parameters);

// An argument of a cluster at launch time.
struct ClusterArg {
  DataType type = DT_INVALID;
  Dims dims;
  std::shared_ptr<const HostConstant> constant;  // set when the value is part of the cache key
  bool is_variable = false;                      // a resource handle; type and dims are those of the variable's value
  bool initialized = true;                       // whether the variable holds a value
};

// Where a result of a cluster comes from.
struct ClusterResult {
  int output = -1;                               // index in the module's result tuple, or
  std::shared_ptr<const HostConstant> constant;  // a value known while lowering, or
  int argument = -1;                             // an argument passed through
  // Of an output whose length only the run knows: the index of that length (s32) in the result tuple, and its
  // dimension.
  int size_output = -1;
  int64_t size_axis = 0;
};

struct LoweredCluster {
  std::unique_ptr<HloModule> module;  // null when all results are known
  std::vector<int> parameter_args;    // argument number of each parameter
  std::vector<ClusterResult> results;
  std::vector<std::pair<int, int>> variable_updates;  // (argument, index in the result tuple)
  int check_output = -1;  // index of a pred scalar that is true when the run must be repeated on the host
};

// Lowers `graph`. If a value that must be constant is computed from arguments that are not, the status is
// FailedPrecondition and `needed` lists them; the caller gives their values and tries again. When a node could not be
// lowered, `failed_node` gets its name.
absl::StatusOr<LoweredCluster> LowerCluster(const Graph& graph, const std::vector<ClusterArg>& args,
                                            std::set<int>* needed, std::string* failed_node = nullptr);

// The literal of a constant, made on first use.
std::shared_ptr<const Literal> LiteralOf(const HostConstant& constant);

}  // namespace xc

#endif  // XC_JIT_LOWERING_GRAPH_LOWERING_H_
