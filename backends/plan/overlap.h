// Which pieces of memory have bytes in common.
#ifndef XC_BACKENDS_PLAN_OVERLAP_H_
#define XC_BACKENDS_PLAN_OVERLAP_H_

#include "compiler/memory/buffer_assignment.h"

namespace xc::plan {

inline bool Overlap(const BufferSlice& x, const BufferSlice& y) {
  if (x.kind == BufferSlice::Kind::kNone || x.kind != y.kind) return false;
  if (x.kind != BufferSlice::Kind::kArena && x.index != y.index) return false;
  return x.offset < y.offset + y.size && y.offset < x.offset + x.size;
}

}  // namespace xc::plan

#endif  // XC_BACKENDS_PLAN_OVERLAP_H_
