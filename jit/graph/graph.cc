#include "jit/graph/graph.h"

#include <algorithm>
#include <queue>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "hlo/base/check.h"
#include "hlo/base/status.h"
#include "jit/graph/transforms/functionalize.h"

namespace xc {
namespace {

absl::Status BadAttr(const Node& node, const std::string& key, const char* kind) {
  const char* problem = node.FindAttr(key) == nullptr ? "is missing" : "has another kind";
  return absl::InvalidArgumentError(
      absl::StrCat("node '", node.name, "' (", node.op, "): attribute '", key, "' of kind ", kind, " ", problem));
}

PartialShape ToPartialShape(const TensorShapeProto& proto) {
  PartialShape shape;
  shape.known_rank = !proto.unknown_rank();
  if (shape.known_rank) {
    for (const auto& d : proto.dim()) shape.dims.push_back(d.size());
  }
  return shape;
}

}  // namespace

const tf::AttrValue* Node::FindAttr(const std::string& key) const {
  auto it = attrs.find(key);
  if (it != attrs.end()) return &it->second;
  if (def == nullptr) return nullptr;
  const AttrSignature* attr = def->FindAttr(key);
  return attr != nullptr && attr->has_default ? &attr->default_value : nullptr;
}

absl::StatusOr<int64_t> Node::Int(const std::string& key) const {
  const tf::AttrValue* v = FindAttr(key);
  if (v == nullptr || v->value_case() != tf::AttrValue::kI) return BadAttr(*this, key, "int");
  return v->i();
}

absl::StatusOr<float> Node::Float(const std::string& key) const {
  const tf::AttrValue* v = FindAttr(key);
  if (v == nullptr || v->value_case() != tf::AttrValue::kF) return BadAttr(*this, key, "float");
  return v->f();
}

absl::StatusOr<bool> Node::Bool(const std::string& key) const {
  const tf::AttrValue* v = FindAttr(key);
  if (v == nullptr || v->value_case() != tf::AttrValue::kB) return BadAttr(*this, key, "bool");
  return v->b();
}

absl::StatusOr<std::string> Node::String(const std::string& key) const {
  const tf::AttrValue* v = FindAttr(key);
  if (v == nullptr || v->value_case() != tf::AttrValue::kS) return BadAttr(*this, key, "string");
  return v->s();
}

absl::StatusOr<DataType> Node::Type(const std::string& key) const {
  const tf::AttrValue* v = FindAttr(key);
  if (v == nullptr || v->value_case() != tf::AttrValue::kType) return BadAttr(*this, key, "type");
  return BaseType(v->type());
}

absl::StatusOr<PartialShape> Node::ShapeAttr(const std::string& key) const {
  const tf::AttrValue* v = FindAttr(key);
  if (v == nullptr || v->value_case() != tf::AttrValue::kShape) return BadAttr(*this, key, "shape");
  return ToPartialShape(v->shape());
}

absl::StatusOr<std::vector<int64_t>> Node::Ints(const std::string& key) const {
  const tf::AttrValue* v = FindAttr(key);
  if (v == nullptr || v->value_case() != tf::AttrValue::kList) return BadAttr(*this, key, "list(int)");
  return std::vector<int64_t>(v->list().i().begin(), v->list().i().end());
}

absl::StatusOr<std::vector<float>> Node::Floats(const std::string& key) const {
  const tf::AttrValue* v = FindAttr(key);
  if (v == nullptr || v->value_case() != tf::AttrValue::kList) return BadAttr(*this, key, "list(float)");
  return std::vector<float>(v->list().f().begin(), v->list().f().end());
}

absl::StatusOr<std::vector<std::string>> Node::Strings(const std::string& key) const {
  const tf::AttrValue* v = FindAttr(key);
  if (v == nullptr || v->value_case() != tf::AttrValue::kList) return BadAttr(*this, key, "list(string)");
  return std::vector<std::string>(v->list().s().begin(), v->list().s().end());
}

absl::StatusOr<std::vector<DataType>> Node::Types(const std::string& key) const {
  const tf::AttrValue* v = FindAttr(key);
  if (v == nullptr || v->value_case() != tf::AttrValue::kList) return BadAttr(*this, key, "list(type)");
  std::vector<DataType> out;
  for (int t : v->list().type()) out.push_back(BaseType(static_cast<DataType>(t)));
  return out;
}

absl::StatusOr<NameAttrList> Node::Func(const std::string& key) const {
  const tf::AttrValue* v = FindAttr(key);
  if (v == nullptr || v->value_case() != tf::AttrValue::kFunc) return BadAttr(*this, key, "func");
  return v->func();
}

absl::StatusOr<std::vector<NameAttrList>> Node::Funcs(const std::string& key) const {
  const tf::AttrValue* v = FindAttr(key);
  if (v == nullptr || v->value_case() != tf::AttrValue::kList) return BadAttr(*this, key, "list(func)");
  return std::vector<NameAttrList>(v->list().func().begin(), v->list().func().end());
}

Graph Graph::Clone() const {
  Graph out;
  out.name = name;
  out.library_ = library_;
  out.borrowed_library_ = borrowed_library_;
  out.by_name_ = by_name_;
  for (const auto& node : nodes_) out.nodes_.push_back(node == nullptr ? nullptr : std::make_unique<Node>(*node));
  return out;
}

Node* Graph::FindNode(const std::string& name) {
  auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : nodes_[it->second].get();
}

const Node* Graph::FindNode(const std::string& name) const { return const_cast<Graph*>(this)->FindNode(name); }

bool IsV1Op(const Node& n, absl::string_view op) {
  absl::string_view own = n.op;
  absl::ConsumePrefix(&own, "Ref");
  return own == op;
}

bool IsBackEdge(const Node& from, const Node& to) { return IsV1Op(to, "Merge") && IsV1Op(from, "NextIteration"); }

Node& Graph::Add(Node node) {
  node.id = size();
  bool fresh = by_name_.emplace(node.name, node.id).second;
  XC_CHECK(fresh) << "duplicate node " << node.name;
  nodes_.push_back(std::make_unique<Node>(std::move(node)));
  return *nodes_.back();
}

void Graph::Remove(int id) {
  by_name_.erase(nodes_[id]->name);
  nodes_[id] = nullptr;
}

std::string Graph::UniqueName(const std::string& base) const {
  if (by_name_.count(base) == 0) return base;
  for (int i = 1;; ++i) {
    std::string name = absl::StrCat(base, "_", i);
    if (by_name_.count(name) == 0) return name;
  }
}

absl::StatusOr<std::vector<int>> Graph::TopologicalOrder(int points, absl::Span<const std::pair<int, int>> more) const {
  std::vector<int> pending(size() + points, 0);
  std::vector<std::vector<int>> users(size() + points);
  int live = points;
  for (int id = 0; id < size(); ++id) {
    if (!has(id)) continue;
    ++live;
    const Node& n = *nodes_[id];
    auto add = [&](int src) {
      if (IsBackEdge(*nodes_[src], n)) return;
      users[src].push_back(id);
      ++pending[id];
    };
    for (const OutputRef& in : n.inputs) add(in.node);
    for (int c : n.control_inputs) add(c);
  }
  for (const auto& [from, to] : more) {
    users[from].push_back(to);
    ++pending[to];
  }
  std::priority_queue<int, std::vector<int>, std::greater<int>> ready;
  for (int id = 0; id < size() + points; ++id) {
    if ((id >= size() || has(id)) && pending[id] == 0) ready.push(id);
  }
  std::vector<int> order;
  order.reserve(live);
  while (!ready.empty()) {
    int id = ready.top();
    ready.pop();
    order.push_back(id);
    for (int user : users[id]) {
      if (--pending[user] == 0) ready.push(user);
    }
  }
  if (static_cast<int>(order.size()) != live) {
    for (int id = 0; id < size(); ++id) {
      if (has(id) && pending[id] > 0) {
        return absl::InvalidArgumentError(
            absl::StrCat("graph '", name, "' has a cycle through or before node '", nodes_[id]->name, "'"));
      }
    }
  }
  return order;
}

std::vector<std::vector<int>> Graph::Users() const {
  std::vector<std::set<int>> sets(size());
  for (int id = 0; id < size(); ++id) {
    if (!has(id)) continue;
    for (const OutputRef& in : nodes_[id]->inputs) sets[in.node].insert(id);
    for (int c : nodes_[id]->control_inputs) sets[c].insert(id);
  }
  std::vector<std::vector<int>> out(size());
  for (int id = 0; id < size(); ++id) out[id].assign(sets[id].begin(), sets[id].end());
  return out;
}

void Graph::ReplaceOutput(OutputRef from, OutputRef to) {
  for (auto& n : nodes_) {
    if (n == nullptr) continue;
    for (OutputRef& in : n->inputs) {
      if (in == from) in = to;
    }
  }
}

void Graph::RedirectControl(int from, int to) {
  for (auto& n : nodes_) {
    if (n == nullptr) continue;
    for (int& c : n->control_inputs) {
      if (c == from) c = to;
    }
  }
}

namespace {
std::vector<int> Indexed(const Graph& g, const std::string& op) {
  std::vector<std::pair<int64_t, int>> found;
  for (int id = 0; id < g.size(); ++id) {
    if (g.has(id) && g.node(id).op == op) found.emplace_back(g.node(id).Int("index").value_or(0), id);
  }
  std::sort(found.begin(), found.end());
  std::vector<int> out;
  for (auto& f : found) out.push_back(f.second);
  return out;
}
}  // namespace

std::vector<int> Graph::Args() const { return Indexed(*this, "_Arg"); }
std::vector<int> Graph::Retvals() const { return Indexed(*this, "_Retval"); }

absl::Status FunctionLibrary::Add(const FunctionDef& def) {
  std::lock_guard<std::mutex> lock(mutex_);
  const std::string& name = def.signature().name();
  if (name.empty()) return absl::InvalidArgumentError("a function of the library has no name");
  if (!defs_.emplace(name, def).second) {
    return absl::InvalidArgumentError(absl::StrCat("function '", name, "' is defined twice"));
  }
  return absl::OkStatus();
}

void FunctionLibrary::AddGraph(const std::string& name, std::shared_ptr<const Graph> graph) {
  std::lock_guard<std::mutex> lock(mutex_);
  graphs_[name] = std::move(graph);
}

bool FunctionLibrary::Has(const std::string& name) const {
  std::lock_guard<std::mutex> lock(mutex_);
  return defs_.count(name) != 0 || graphs_.count(name) != 0;
}

std::vector<std::string> FunctionLibrary::Names() const {
  std::lock_guard<std::mutex> lock(mutex_);
  std::vector<std::string> names;
  for (const auto& entry : defs_) names.push_back(entry.first);
  return names;
}

absl::StatusOr<std::shared_ptr<const Graph>> FunctionLibrary::Instantiate(const NameAttrList& call,
                                                                          std::shared_ptr<FunctionLibrary> self) {
  FunctionDef def;
  std::string key = call.name();
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (auto ready = graphs_.find(key); ready != graphs_.end()) return ready->second;
    auto it = defs_.find(call.name());
    if (it == defs_.end()) {
      return absl::NotFoundError(absl::StrCat("function '", call.name(), "' is not in the library"));
    }
    // The body depends on the call's attributes only where it has placeholders for them.
    if (it->second.signature().attr_size() > 0) {
      std::map<std::string, std::string> sorted;
      for (const auto& a : call.attr()) sorted[a.first] = a.second.SerializeAsString();
      for (const auto& a : sorted) absl::StrAppend(&key, "|", a.first, "=", a.second);
      if (auto ready = graphs_.find(key); ready != graphs_.end()) return ready->second;
    }
    def = it->second;
  }
  ImportOptions options;
  options.allow_unknown_ops = allow_unknown_ops_;
  XC_ASSIGN_OR_RETURN(std::unique_ptr<Graph> graph, ImportFunction(def, call, self, options));
  XC_RETURN_IF_ERROR(FunctionalizeControlFlow(*graph).status());
  std::lock_guard<std::mutex> lock(mutex_);
  std::shared_ptr<const Graph>& slot = graphs_[key];
  if (slot == nullptr) slot = std::move(graph);
  return slot;
}

}  // namespace xc
