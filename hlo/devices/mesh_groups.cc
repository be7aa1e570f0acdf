#include "hlo/devices/mesh_groups.h"

#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

// One dimension of the mesh, split so that each group's axes are whole dimensions; `place` is its place among the axes
// of a group, or -1.
struct Part {
  int64_t size;
  int64_t place;
};

template <typename... Pieces>
absl::Status Error(const Pieces&... pieces) {
  return absl::InvalidArgumentError(absl::StrCat("replica groups of a mesh: ", pieces...));
}

absl::StatusOr<int64_t> DeviceCount(const DeviceMesh& mesh) {
  __int128 count = 1;
  for (const DeviceMesh::Axis& axis : mesh.axes) {
    if (axis.size < 1) return Error("axis '", axis.name, "' has size ", axis.size, ", should be at least 1");
    count *= axis.size;
    if (count > INT32_MAX) return Error("it has too many devices");
  }
  return static_cast<int64_t>(count);
}

absl::StatusOr<std::vector<Part>> SplitAxes(const DeviceMesh& mesh, absl::Span<const MeshAxisRef> refs) {
  std::vector<std::vector<int64_t>> of_axis(mesh.axes.size());
  for (size_t i = 0; i < refs.size(); ++i) {
    if (refs[i].axis < 0 || refs[i].axis >= static_cast<int64_t>(mesh.axes.size())) {
      return Error("it has no axis number ", refs[i].axis);
    }
    of_axis[refs[i].axis].push_back(static_cast<int64_t>(i));
  }
  std::vector<Part> parts;
  for (size_t a = 0; a < mesh.axes.size(); ++a) {
    const DeviceMesh::Axis& axis = mesh.axes[a];
    std::sort(of_axis[a].begin(), of_axis[a].end(),
              [&](int64_t x, int64_t y) { return refs[x].pre_size < refs[y].pre_size; });
    int64_t covered = 1;  // the product of the axis's parts so far
    for (int64_t i : of_axis[a]) {
      const int64_t pre = refs[i].pre_size, size = refs[i].size == 0 ? axis.size : refs[i].size;
      if (pre < 1 || size < 1 || pre > axis.size || size > axis.size || axis.size % (pre * size) != 0) {
        return Error("axis '", axis.name, "' of size ", axis.size, " has no part (", pre, ")", size);
      }
      if (pre % covered != 0) return Error("parts of axis '", axis.name, "' overlap");
      parts.push_back({pre / covered, -1});
      parts.push_back({size, i});
      covered = pre * size;
    }
    if (axis.size % covered != 0) return Error("parts of axis '", axis.name, "' overlap");
    parts.push_back({axis.size / covered, -1});
  }
  std::erase_if(parts, [](const Part& part) { return part.size == 1; });
  return parts;
}

// Joins dimensions that stay neighbours, so that equal orders are written in one way.
void SetIota(absl::Span<const int64_t> sizes, absl::Span<const int64_t> order, ReplicaGroups* groups) {
  std::vector<int64_t> first;  // of each run of neighbours, in the transposed order
  for (size_t k = 0; k < order.size(); ++k) {
    if (k == 0 || order[k] != order[k - 1] + 1) first.push_back(order[k]);
  }
  std::vector<int64_t> sorted = first;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) {
    const int64_t end = i + 1 < sorted.size() ? sorted[i + 1] : static_cast<int64_t>(sizes.size());
    groups->iota_reshape_dims.push_back(
        std::accumulate(sizes.begin() + sorted[i], sizes.begin() + end, int64_t{1}, std::multiplies<>()));
  }
  if (sorted.empty()) groups->iota_reshape_dims.push_back(1);
  if (first == sorted) return;
  for (int64_t start : first) {
    groups->iota_transpose.push_back(std::lower_bound(sorted.begin(), sorted.end(), start) - sorted.begin());
  }
}

// The numbers 0, 1, … of an array of `dims` in the row-major order of its transpose.
std::vector<int64_t> Transposed(absl::Span<const int64_t> dims, absl::Span<const int64_t> order) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  std::vector<int64_t> numbers = {0};
  for (int64_t d : order) {
    std::vector<int64_t> next;
    next.reserve(numbers.size() * dims[d]);
    for (int64_t base : numbers) {
      for (int64_t i = 0; i < dims[d]; ++i) next.push_back(base + i * strides[d]);
    }
    numbers = std::move(next);
  }
  return numbers;
}

}  // namespace

absl::StatusOr<ReplicaGroups> GroupsOfMesh(const DeviceMesh& mesh, absl::Span<const MeshAxisRef> axes) {
  // More devices than this are not written out.
  constexpr int64_t kMostListed = 1 << 20;
  XC_ASSIGN_OR_RETURN(const int64_t count, DeviceCount(mesh));
  XC_ASSIGN_OR_RETURN(const std::vector<Part> parts, SplitAxes(mesh, axes));
  std::vector<int64_t> sizes, order;
  for (const Part& part : parts) sizes.push_back(part.size);
  int64_t group_count = 1;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].place >= 0) continue;
    order.push_back(static_cast<int64_t>(i));
    group_count *= parts[i].size;
  }
  const auto outer = static_cast<int64_t>(order.size());
  for (size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].place >= 0) order.push_back(static_cast<int64_t>(i));
  }
  std::sort(order.begin() + outer, order.end(), [&](int64_t a, int64_t b) { return parts[a].place < parts[b].place; });

  ReplicaGroups groups;
  std::vector<int64_t> ids = mesh.device_ids;
  if (!ids.empty() && static_cast<int64_t>(ids.size()) != count) {
    return Error("it has ", count, " devices, but device_ids gives ", ids.size());
  }
  if (ids.empty() && !mesh.iota_reshape_dims.empty()) {
    __int128 product = 1;
    for (int64_t d : mesh.iota_reshape_dims) {
      product = d < 1 || product > INT32_MAX ? 0 : product * d;
    }
    Int64List permutation = mesh.iota_transpose;
    if (permutation.empty()) {
      permutation.resize(mesh.iota_reshape_dims.size());
      std::iota(permutation.begin(), permutation.end(), 0);
    }
    Int64List identity = permutation;
    std::sort(identity.begin(), identity.end());
    bool valid = product == count && permutation.size() == mesh.iota_reshape_dims.size();
    for (size_t i = 0; i < identity.size(); ++i) valid = valid && identity[i] == static_cast<int64_t>(i);
    if (!valid) {
      return Error("device_ids=([", absl::StrJoin(mesh.iota_reshape_dims, ","), "]T(",
                   absl::StrJoin(mesh.iota_transpose, ","), ")) is no order of ", count, " devices");
    }
    if (permutation != identity) {
      if (count > kMostListed) return Error("a mesh with an order of its own may have ", kMostListed, " devices");
      ids = Transposed(mesh.iota_reshape_dims, permutation);
    }
  }
  if (ids.empty()) {
    groups.iota_dims = {group_count, count / group_count};
    SetIota(sizes, order, &groups);
    return groups;
  }
  const std::vector<int64_t> places = Transposed(sizes, order);
  const int64_t group_size = count / group_count;
  for (int64_t g = 0; g < group_count; ++g) {
    Int64List& group = groups.groups.emplace_back();
    for (int64_t i = 0; i < group_size; ++i) group.push_back(ids[places[g * group_size + i]]);
  }
  return groups;
}

}  // namespace xc
