// Sorting networks: many short rows at once, a row in each lane of vectors.
#ifndef XC_BACKENDS_RUNTIME_SORT_NETWORKS_H_
#define XC_BACKENDS_RUNTIME_SORT_NETWORKS_H_

#include <cstdint>

namespace xc {

inline constexpr int64_t kNetworkLanes = 16;  // rows of a block
inline constexpr int64_t kMostInNetwork = 64;

// The longest rows that networks sort sooner than a sort with branches does on this processor, if there are a few;
// `pairs`: of keys with indices apart.
int64_t LongestNetworkRow(bool pairs);

// Sorts the n elements of each lane; element i of lane r is block[i * kNetworkLanes + r], and blocks are aligned to 64
// bytes. Networks are not stable: equal elements are told apart by an index. n is at most kMostInNetwork.
void SortLanes(int32_t* block, int64_t n);
void SortLanes(int64_t* block, int64_t n);
// By keys, and where these are equal by `indices`, which are moved with them.
void SortLanes(int64_t* keys, int64_t* indices, int64_t n);

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_SORT_NETWORKS_H_
