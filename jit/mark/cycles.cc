#include "jit/mark/cycles.h"

#include <algorithm>

namespace xc {

ContractibleDag::ContractibleDag(int n, const std::vector<int>& order)
    : parent_(n), in_(n), out_(n), position_(n, -1), at_(order) {
  for (int i = 0; i < n; ++i) parent_[i] = i;
  for (size_t i = 0; i < order.size(); ++i) position_[order[i]] = static_cast<int>(i);
}

void ContractibleDag::AddEdge(int from, int to) {
  if (from == to) return;
  out_[from].insert(to);
  in_[to].insert(from);
}

int ContractibleDag::Representative(int node) const {
  while (parent_[node] != node) node = parent_[node];
  return node;
}

bool ContractibleDag::Reach(int start, int skip, int limit, std::vector<int>* reached) const {
  std::vector<bool> seen(parent_.size(), false);
  std::vector<int> todo;
  for (int next : out_[start]) {
    if (next != skip) todo.push_back(next);
  }
  while (!todo.empty()) {
    int node = todo.back();
    todo.pop_back();
    if (node == skip) return false;
    if (seen[node] || position_[node] >= limit) continue;
    seen[node] = true;
    reached->push_back(node);
    for (int next : out_[node]) todo.push_back(next);
  }
  return true;
}

bool ContractibleDag::Contract(int from, int to) {
  std::vector<int> reached;
  if (!Reach(from, to, position_[to], &reached)) return false;
  // Between the two positions: first what `from` does not reach, then the merged node, then what it reaches.
  int low = position_[from], high = position_[to];
  std::set<int> after(reached.begin(), reached.end());
  std::vector<int> sequence;
  for (int p = low + 1; p < high; ++p) {
    if (at_[p] >= 0 && after.count(at_[p]) == 0) sequence.push_back(at_[p]);
  }
  sequence.push_back(from);
  for (int p = low + 1; p < high; ++p) {
    if (at_[p] >= 0 && after.count(at_[p]) != 0) sequence.push_back(at_[p]);
  }
  for (int p = low; p <= high; ++p) at_[p] = -1;
  for (size_t i = 0; i < sequence.size(); ++i) {
    at_[low + i] = sequence[i];
    position_[sequence[i]] = low + static_cast<int>(i);
  }
  parent_[to] = from;
  out_[from].erase(to);
  in_[to].erase(from);
  for (int next : out_[to]) {
    in_[next].erase(to);
    AddEdge(from, next);
  }
  for (int previous : in_[to]) {
    out_[previous].erase(to);
    AddEdge(previous, from);
  }
  out_[to].clear();
  in_[to].clear();
  return true;
}

}  // namespace xc
