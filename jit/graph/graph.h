// The host graph: nodes with data and control edges, typed attributes and a function library.
#ifndef XC_JIT_GRAPH_GRAPH_H_
#define XC_JIT_GRAPH_GRAPH_H_

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "jit/graph/op_def.h"
#include "jit/graph/tensor.h"
#include "jit/graph/types.h"

namespace xc {

// Output `index` of node `node`.
struct OutputRef {
  int node = -1;
  int index = 0;
  bool operator==(const OutputRef&) const = default;
  auto operator<=>(const OutputRef&) const = default;
};

// One operation. Attribute accessors fall back to the op table's default and give an InvalidArgument error that names
// the node when the attribute is absent or has another kind.
struct Node {
  int id = -1;
  std::string name;
  std::string op;
  std::string device;
  std::string source;                // the program's source line, when the graph has it
  const OpSignature* def = nullptr;  // null for an op outside the table (only where the importer allows it)
  std::map<std::string, tf::AttrValue> attrs;
  std::vector<OutputRef> inputs;
  std::vector<int> control_inputs;
  std::vector<DataType> input_types;
  std::vector<DataType> output_types;
  std::shared_ptr<const HostConstant> constant;  // the value of a Const node
  std::string pinned;                            // why the node must stay where it is; empty if it may join a cluster
  int region = 0;  // nodes of one region run together or not at all; 0 outside v1 control flow

  int num_outputs() const { return static_cast<int>(output_types.size()); }
  bool HasAttr(const std::string& key) const { return attrs.count(key) != 0; }
  // The explicit attribute or the default of the op table; null if neither exists.
  const tf::AttrValue* FindAttr(const std::string& key) const;
  absl::StatusOr<int64_t> Int(const std::string& key) const;
  absl::StatusOr<float> Float(const std::string& key) const;
  absl::StatusOr<bool> Bool(const std::string& key) const;
  absl::StatusOr<std::string> String(const std::string& key) const;
  absl::StatusOr<DataType> Type(const std::string& key) const;
  absl::StatusOr<PartialShape> ShapeAttr(const std::string& key) const;
  absl::StatusOr<std::vector<int64_t>> Ints(const std::string& key) const;
  absl::StatusOr<std::vector<float>> Floats(const std::string& key) const;
  absl::StatusOr<std::vector<std::string>> Strings(const std::string& key) const;
  absl::StatusOr<std::vector<DataType>> Types(const std::string& key) const;
  absl::StatusOr<NameAttrList> Func(const std::string& key) const;
  absl::StatusOr<std::vector<NameAttrList>> Funcs(const std::string& key) const;
  bool stateful() const { return def != nullptr && def->stateful; }
};

class FunctionLibrary;

// Whether the node's op is `op`, or the same on references.
bool IsV1Op(const Node& n, absl::string_view op);
// Whether an edge between them closes a loop: from NextIteration to Merge, it gives the next iteration its value.
bool IsBackEdge(const Node& from, const Node& to);

// A graph whose nodes are numbered 0..size-1; removed nodes leave an empty slot until Compact().
class Graph {
 public:
  std::string name = "main";

  // The functions that the nodes call, or null. A body that a library keeps does not keep the library: for such a graph
  // this is null once the library is gone.
  std::shared_ptr<FunctionLibrary> library() const { return library_ != nullptr ? library_ : borrowed_library_.lock(); }
  void set_library(std::shared_ptr<FunctionLibrary> library) { library_ = std::move(library); }
  void borrow_library(std::weak_ptr<FunctionLibrary> library) { borrowed_library_ = std::move(library); }

  // A copy with the same ids; the library is shared.
  Graph Clone() const;

  int size() const { return static_cast<int>(nodes_.size()); }
  bool has(int id) const { return id >= 0 && id < size() && nodes_[id] != nullptr; }
  Node& node(int id) { return *nodes_[id]; }
  const Node& node(int id) const { return *nodes_[id]; }
  Node* FindNode(const std::string& name);
  const Node* FindNode(const std::string& name) const;

  // Adds a node and gives it an id; its name must be unused.
  Node& Add(Node node);
  void Remove(int id);
  std::string UniqueName(const std::string& base) const;

  // Ids in an order in which every node stands after its data and control inputs; ties by id. Edges from NextIteration
  // to Merge close loops and do not count. An error names a node on a cycle. `more` edges may go to and come from
  // `points` further ids, after those of the nodes.
  absl::StatusOr<std::vector<int>> TopologicalOrder(int points = 0,
                                                    absl::Span<const std::pair<int, int>> more = {}) const;

  // Consumers of each node (data and control), without duplicates.
  std::vector<std::vector<int>> Users() const;

  // Every consumer's input `from` becomes `to`.
  void ReplaceOutput(OutputRef from, OutputRef to);
  void RedirectControl(int from, int to);

  // Argument and result nodes of a function body, by index.
  std::vector<int> Args() const;
  std::vector<int> Retvals() const;

 private:
  std::vector<std::unique_ptr<Node>> nodes_;
  std::map<std::string, int> by_name_;
  std::shared_ptr<FunctionLibrary> library_;
  std::weak_ptr<FunctionLibrary> borrowed_library_;
};

// Functions of a GraphDef, turned into graphs on first use; thread-safe.
class FunctionLibrary {
 public:
  explicit FunctionLibrary(bool allow_unknown_ops = false) : allow_unknown_ops_(allow_unknown_ops) {}
  absl::Status Add(const FunctionDef& def);
  // Replaces or adds a ready graph under `name`; it must borrow the library, not hold it.
  void AddGraph(const std::string& name, std::shared_ptr<const Graph> graph);
  bool Has(const std::string& name) const;
  std::vector<std::string> Names() const;

  // The body as a graph of _Arg, _Retval and other nodes. Attributes of the call fill the placeholders of the body.
  absl::StatusOr<std::shared_ptr<const Graph>> Instantiate(const NameAttrList& call,
                                                           std::shared_ptr<FunctionLibrary> self);

 private:
  mutable std::mutex mutex_;
  bool allow_unknown_ops_;
  std::map<std::string, FunctionDef> defs_;
  std::map<std::string, std::shared_ptr<const Graph>> graphs_;
};

// Fills def, input_types and output_types from the op table and the attributes.
absl::Status ResolveSignature(Node& node);

struct ImportOptions {
  // Nodes of unknown operations become opaque (types DT_INVALID) instead of errors.
  bool allow_unknown_ops = false;
};

// Builds and validates a graph: unique names, known ops, attributes of the right kind, existing inputs of the right
// type and number, no cycles.
absl::StatusOr<std::unique_ptr<Graph>> ImportGraphDef(const GraphDef& def, const ImportOptions& options = {});

// The body of a function as a graph, which borrows the library.
absl::StatusOr<std::unique_ptr<Graph>> ImportFunction(const FunctionDef& def, const NameAttrList& call,
                                                      std::shared_ptr<FunctionLibrary> library,
                                                      const ImportOptions& options);

// Reads a binary GraphDef or, when the name ends in .pbtxt or the bytes are text, a textual one.
absl::StatusOr<GraphDef> ReadGraphDef(const std::string& path);
absl::StatusOr<GraphDef> ParseGraphDef(const std::string& bytes, bool text);

// Writes a graph of known nodes back as a GraphDef; function library not included.
GraphDef ExportGraphDef(const Graph& graph);

// "name:0", "name" or "^name" split; index -1 means a control edge.
absl::StatusOr<std::pair<std::string, int>> ParseTensorName(const std::string& text);

}  // namespace xc

#endif  // XC_JIT_GRAPH_GRAPH_H_
