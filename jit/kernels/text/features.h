// The features of serialized examples: their types, their numbers of values, and where the values go.
#ifndef XC_JIT_KERNELS_TEXT_FEATURES_H_
#define XC_JIT_KERNELS_TEXT_FEATURES_H_

#include <algorithm>

#include "jit/kernels/kernel.h"
#include "proto/example.pb.h"

namespace xc {

// The type of its values; DT_INVALID if it has none.
inline DataType TypeOf(const tf::Feature& f) {
  switch (f.kind_case()) {
    case tf::Feature::kBytesList:
      return DT_STRING;
    case tf::Feature::kFloatList:
      return DT_FLOAT;
    case tf::Feature::kInt64List:
      return DT_INT64;
    default:
      return DT_INVALID;
  }
}

// How many values it has.
inline int64_t Count(const tf::Feature& f) {
  return f.has_bytes_list()   ? f.bytes_list().value_size()
         : f.has_float_list() ? f.float_list().value_size()
                              : f.int64_list().value_size();
}

// The values of a feature become elements [at, at + Count) of the tensor.
inline void Place(const tf::Feature& f, Tensor& t, int64_t at) {
  if (f.has_bytes_list()) std::copy(f.bytes_list().value().begin(), f.bytes_list().value().end(), &t.strings()[at]);
  if (f.has_float_list()) std::copy(f.float_list().value().begin(), f.float_list().value().end(), t.data<float>() + at);
  if (f.has_int64_list()) {
    std::copy(f.int64_list().value().begin(), f.int64_list().value().end(), t.data<int64_t>() + at);
  }
}

}  // namespace xc

#endif  // XC_JIT_KERNELS_TEXT_FEATURES_H_
