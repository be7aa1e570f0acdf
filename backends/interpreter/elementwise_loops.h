// The loops behind elementwise operators: a function object on compute types becomes an ElementwiseFn.
#ifndef XC_BACKENDS_INTERPRETER_ELEMENTWISE_LOOPS_H_
#define XC_BACKENDS_INTERPRETER_ELEMENTWISE_LOOPS_H_

#include <algorithm>

#include "backends/interpreter/elementwise.h"
#include "backends/interpreter/lanes.h"

namespace xc::interp {

// One operand seen as C, kLanes at a time: in place when it is stored so, else widened into a buffer.
template <typename C>
class OperandLanes {
 public:
  OperandLanes(ElementType type, const uint8_t* base)
      : base_(base), load_(StoredAs<C>(type) ? nullptr : GetLoad<C>(type)) {}
  const C* At(int64_t start, int64_t n) {
    if (load_ == nullptr) return reinterpret_cast<const C*>(base_) + start;
    load_(base_, start, 1, n, buffer_);
    return buffer_;
  }

 private:
  const uint8_t* base_;
  LoadFn<C> load_;
  C buffer_[kLanes];
};

// The result as C: in place, or narrowed by Done.
template <typename C>
class ResultLanes {
 public:
  ResultLanes(ElementType type, uint8_t* base) : base_(base), store_(StoredAs<C>(type) ? nullptr : GetStore<C>(type)) {}
  C* At(int64_t start) { return store_ == nullptr ? reinterpret_cast<C*>(base_) + start : buffer_; }
  void Done(int64_t start, int64_t n) {
    if (store_ != nullptr) store_(buffer_, n, base_, start);
  }

 private:
  uint8_t* base_;
  StoreFn<C> store_;
  C buffer_[kLanes];
};

// F: R operator()(const ElementwiseOp&, C...) const, default-constructible.
template <typename C, typename R, typename F>
void UnaryLoop(const ElementwiseOp& op, const uint8_t* const* in, uint8_t* out, int64_t n) {
  OperandLanes<C> a(op.in[0], in[0]);
  ResultLanes<R> r(op.out, out);
  const F f;
  for (int64_t i = 0; i < n; i += kLanes) {
    const int64_t m = std::min(kLanes, n - i);
    const C* pa = a.At(i, m);
    R* pr = r.At(i);
    for (int64_t j = 0; j < m; ++j) pr[j] = f(op, pa[j]);
    r.Done(i, m);
  }
}

template <typename C, typename R, typename F>
void BinaryLoop(const ElementwiseOp& op, const uint8_t* const* in, uint8_t* out, int64_t n) {
  OperandLanes<C> a(op.in[0], in[0]);
  OperandLanes<C> b(op.in[1], in[1]);
  ResultLanes<R> r(op.out, out);
  const F f;
  for (int64_t i = 0; i < n; i += kLanes) {
    const int64_t m = std::min(kLanes, n - i);
    const C* pa = a.At(i, m);
    const C* pb = b.At(i, m);
    R* pr = r.At(i);
    for (int64_t j = 0; j < m; ++j) pr[j] = f(op, pa[j], pb[j]);
    r.Done(i, m);
  }
}

// A lambda without captures, given as a template argument, as a function object.
#define XC_OP(name, ...)                                  \
  struct name {                                           \
    template <typename C>                                 \
    auto operator()(const ElementwiseOp& op, C x) const { \
      (void)op;                                           \
      __VA_ARGS__;                                        \
    }                                                     \
  };
#define XC_OP2(name, ...)                                      \
  struct name {                                                \
    template <typename C>                                      \
    auto operator()(const ElementwiseOp& op, C x, C y) const { \
      (void)op;                                                \
      __VA_ARGS__;                                             \
    }                                                          \
  };

}  // namespace xc::interp

#endif  // XC_BACKENDS_INTERPRETER_ELEMENTWISE_LOOPS_H_
