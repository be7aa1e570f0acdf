// A directed acyclic graph under contraction of edges, with an order that is kept up to date: what cluster growth needs
// to merge two nodes only when that makes no cycle.
#ifndef XC_JIT_MARK_CYCLES_H_
#define XC_JIT_MARK_CYCLES_H_

#include <set>
#include <vector>

namespace xc {

class ContractibleDag {
 public:
  // Nodes are 0..n-1; `order` lists all of them, sources first.
  ContractibleDag(int n, const std::vector<int>& order);

  void AddEdge(int from, int to);
  // The node that now stands for `node`.
  int Representative(int node) const;
  // Merges the ends of an edge from `from` to `to` (representatives) unless another path leads from one to the other.
  // The merged node is represented by `from`.
  bool Contract(int from, int to);

 private:
  // Nodes reachable from `start` (itself excluded, and not through the edge start -> skip) before position `limit`.
  // False if `skip` is among them.
  bool Reach(int start, int skip, int limit, std::vector<int>* reached) const;

  std::vector<int> parent_;
  std::vector<std::set<int>> in_, out_;
  std::vector<int> position_;  // of representatives
  std::vector<int> at_;        // representative at a position, -1 for none
};

}  // namespace xc

#endif  // XC_JIT_MARK_CYCLES_H_
