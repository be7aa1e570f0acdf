#include "hlo/analysis/reshape_groups.h"

namespace xc {

std::vector<ReshapeGroup> ReshapeGroups(const Shape& from, const Shape& to) {
  std::vector<ReshapeGroup> groups;
  int64_t i = 0, j = 0;
  while (i < from.rank() || j < to.rank()) {
    ReshapeGroup group;
    group.in = i;
    group.out = j;
    int64_t p = 1, q = 1;
    // Leading dimensions of size 1 on one side only belong to what follows.
    do {
      do {
        if (j >= to.rank() || (i < from.rank() && p <= q)) {
          p *= from.dim(i++);
        } else {
          q *= to.dim(j++);
        }
      } while (p != q);
      while (i < from.rank() && from.dim(i) == 1) ++i;
      while (j < to.rank() && to.dim(j) == 1) ++j;
    } while ((i == group.in || j == group.out) && (i < from.rank() || j < to.rank()));
    group.in_end = i;
    group.out_end = j;
    for (int64_t d = group.in; d < i; ++d) {
      if (from.dim(d) != 1) group.own.push_back(d);
    }
    int marked = 0;
    if (j > group.out) group.open = group.out;
    for (int64_t d = group.out; d < j; ++d) {
      if (to.dim(d) != 1) group.wide.push_back(d);
    }
    if (!group.wide.empty()) group.open = group.wide[0];
    for (int64_t d = group.out; d < j; ++d) {
      if (to.is_dynamic_dim(d)) group.open = ++marked == 1 ? d : -1;
    }
    for (int64_t d = group.out; d < j; ++d) group.rest *= d == group.open ? 1 : to.dim(d);
    group.same = group.own.size() == group.wide.size() && !group.own.empty();
    for (size_t k = 0; group.same && k < group.own.size(); ++k) {
      group.same = from.dim(group.own[k]) == to.dim(group.wide[k]);
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace xc
