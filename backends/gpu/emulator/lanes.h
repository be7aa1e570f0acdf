// Handlers that do the same in each of 32 lanes: templates over the type and a function of it.
#ifndef XC_BACKENDS_GPU_EMULATOR_LANES_H_
#define XC_BACKENDS_GPU_EMULATOR_LANES_H_

#include <cstdint>
#include <cstring>

#include "backends/gpu/emulator/machine.h"

namespace xc::emulator {

template <typename T>
T* At(Warp& w, Slot slot) {
  return reinterpret_cast<T*>(w.frame + slot);
}
inline uint32_t& Defined(Warp& w, Slot slot) { return w.defined[slot >> 6]; }

// The result is defined where the sources are.
inline void Define(Warp& w, Slot d, uint32_t mask, uint32_t sources) {
  uint32_t& defined = Defined(w, d);
  defined = (defined & ~mask) | (mask & sources);
}

template <typename T>
void Write(Warp& w, Slot d, const T* values, uint32_t mask) {
  T* out = At<T>(w, d);
  if (mask == kAllLanes) {
    std::memcpy(out, values, kLanes * sizeof(T));
    return;
  }
  for (int l = 0; l < kLanes; ++l) out[l] = (mask >> l & 1) ? values[l] : out[l];
}

inline void WritePredicate(Warp& w, Slot d, uint32_t values, uint32_t mask) {
  uint32_t* out = At<uint32_t>(w, d);
  *out = (*out & ~mask) | (values & mask);
}

template <typename D, typename S, auto F>
void Unary(Warp& w, const Instruction& i, uint32_t mask) {
  const S* a = At<S>(w, i.a);
  alignas(64) D r[kLanes];
  for (int l = 0; l < kLanes; ++l) r[l] = static_cast<D>(F(a[l]));
  Write<D>(w, i.d, r, mask);
  Define(w, i.d, mask, Defined(w, i.a));
}

template <typename D, typename S, typename S2, auto F>
void Binary(Warp& w, const Instruction& i, uint32_t mask) {
  const S* a = At<S>(w, i.a);
  const S2* b = At<S2>(w, i.b);
  alignas(64) D r[kLanes];
  for (int l = 0; l < kLanes; ++l) r[l] = static_cast<D>(F(a[l], b[l]));
  Write<D>(w, i.d, r, mask);
  Define(w, i.d, mask, Defined(w, i.a) & Defined(w, i.b));
}

template <typename D, typename S, typename S2, typename S3, auto F>
void Ternary(Warp& w, const Instruction& i, uint32_t mask) {
  const S* a = At<S>(w, i.a);
  const S2* b = At<S2>(w, i.b);
  const S3* c = At<S3>(w, i.c);
  alignas(64) D r[kLanes];
  for (int l = 0; l < kLanes; ++l) r[l] = static_cast<D>(F(a[l], b[l], c[l]));
  Write<D>(w, i.d, r, mask);
  Define(w, i.d, mask, Defined(w, i.a) & Defined(w, i.b) & Defined(w, i.c));
}

// A comparison: into predicate d and, negated, into e; c with negation i.y combines as i.x says (0 none, 1 and, 2 or,
// 3 xor).
inline void SetPredicates(Warp& w, const Instruction& i, uint32_t mask, uint32_t result, uint32_t defined) {
  uint32_t negated = ~result;
  if (i.x != 0) {
    const uint32_t c = *At<uint32_t>(w, i.c) ^ (i.y ? kAllLanes : 0);
    defined &= Defined(w, i.c);
    result = i.x == 1 ? result & c : i.x == 2 ? result | c : result ^ c;
    negated = i.x == 1 ? negated & c : i.x == 2 ? negated | c : negated ^ c;
  }
  WritePredicate(w, i.d, result, mask);
  Define(w, i.d, mask, defined);
  if (i.e >= 0) {
    WritePredicate(w, i.e, negated, mask);
    Define(w, i.e, mask, defined);
  }
}

template <typename S, auto F>
uint32_t Compared(Warp& w, const Instruction& i) {
  const S* a = At<S>(w, i.a);
  const S* b = At<S>(w, i.b);
  alignas(64) uint32_t bits[kLanes];
  for (int l = 0; l < kLanes; ++l) bits[l] = static_cast<uint32_t>(F(a[l], b[l])) << l;
  uint32_t result = 0;
  for (int l = 0; l < kLanes; ++l) result |= bits[l];
  return result;
}

template <typename S, auto F>
void Compare(Warp& w, const Instruction& i, uint32_t mask) {
  SetPredicates(w, i, mask, Compared<S, F>(w, i), Defined(w, i.a) & Defined(w, i.b));
}

// The lowest lane of a mask that is not 0.
inline int FirstLane(uint32_t mask) { return __builtin_ctz(mask); }

// Raises a fault if not all lanes of `mask` have a value in `slot`.
inline bool CheckDefined(Warp& w, const Instruction& i, Slot slot, uint32_t mask, const char* what) {
  const uint32_t missing = mask & ~Defined(w, slot);
  if (missing == 0) return true;
  w.Raise(i, Fault::kUninitialised, FirstLane(missing), what);
  return false;
}

}  // namespace xc::emulator

#endif  // XC_BACKENDS_GPU_EMULATOR_LANES_H_
