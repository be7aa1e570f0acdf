#include "compiler/sharding/agree.h"

#include <algorithm>
#include <utility>

#include "compiler/sharding/partition_rules.h"

namespace xc {
namespace {

// By how many digits an array is cut, and one dimension of it at most.
std::pair<size_t, size_t> DigitCounts(const DeviceTiling& tiling) {
  size_t count = 0, most = 0;
  for (int64_t d = 0; d < tiling.rank(); ++d) {
    count += tiling.dim(d).size();
    most = std::max(most, tiling.dim(d).size());
  }
  return {count, most};
}

using Digits = std::vector<DeviceTiling::Digit>;

// What both begin with.
size_t CommonDigits(const Digits& one, const Digits& other) {
  size_t n = 0;
  while (n < one.size() && n < other.size() && one[n] == other[n]) ++n;
  return n;
}

using Arrays = std::vector<const DeviceTiling*>;

// Without those that say nothing: that are not cut, or have another order of devices than the first that is.
Arrays ThoseThatSay(Arrays arrays, int64_t rank) {
  const DeviceTiling* first = nullptr;
  const auto says_nothing = [&](const DeviceTiling* array) {
    if (array->IsReplicated() || array->rank() != rank) return true;
    if (first == nullptr) first = array;
    return array->order() != first->order();
  };
  arrays.erase(std::remove_if(arrays.begin(), arrays.end(), says_nothing), arrays.end());
  return arrays;
}

// What each says along each dimension, as far as none says otherwise.
std::vector<DeviceTiling> WhatIsAgreed(const Arrays& arrays, int64_t rank) {
  std::vector<Digits> agreed(rank);
  for (int64_t d = 0; d < rank; ++d) {
    for (const DeviceTiling* array : arrays) {
      if (array->dim(d).size() > agreed[d].size()) agreed[d] = array->dim(d);
    }
    for (const DeviceTiling* array : arrays) {
      const size_t common = CommonDigits(array->dim(d), agreed[d]);
      if (common < array->dim(d).size()) agreed[d].resize(common);
    }
  }
  std::vector<DeviceTiling> said;
  for (const DeviceTiling* array : arrays) {
    DeviceTiling& one = said.emplace_back(DeviceTiling::Replicated(rank));
    one.set_order(array->order());
    for (int64_t d = 0; d < rank; ++d) {
      const size_t common = CommonDigits(array->dim(d), agreed[d]);
      for (size_t n = 0; n < common; ++n) one.Append(d, array->dim(d)[n]);
    }
  }
  return said;
}

// An operand of a product, its batch and free dimensions where the product has them: the free ones from `next` on.
DeviceTiling InProduct(const DeviceTiling& operand, const Int64List& batch, const Int64List& contracting, int64_t rank,
                       int64_t* next) {
  DeviceTiling result = DeviceTiling::Replicated(rank);
  result.set_order(operand.order());
  const auto move = [&](int64_t from, int64_t to) {
    for (const DeviceTiling::Digit& digit : operand.dim(from)) result.Append(to, digit);
  };
  for (size_t b = 0; b < batch.size(); ++b) move(batch[b], static_cast<int64_t>(b));
  for (int64_t d = 0; d < operand.rank(); ++d) {
    if (!HasDim(batch, d) && !HasDim(contracting, d)) move(d, (*next)++);
  }
  return result;
}

// Adds what `one` says beyond `result`, as far as no other dimension is cut by it.
void AddUnused(const DeviceTiling& one, DeviceTiling* result) {
  for (int64_t d = 0; d < one.rank(); ++d) {
    const size_t has = result->dim(d).size();
    if (CommonDigits(one.dim(d), result->dim(d)) < has) continue;
    for (size_t n = has; n < one.dim(d).size(); ++n) {
      bool used = false;
      for (int64_t e = 0; e < one.rank(); ++e) {
        const Digits& digits = result->dim(e);
        used |= std::find(digits.begin(), digits.end(), one.dim(d)[n]) != digits.end();
      }
      if (used) break;
      result->Append(d, one.dim(d)[n]);
    }
  }
}

}  // namespace

DeviceTiling Agreed(std::vector<const DeviceTiling*> arrays, int64_t rank) {
  arrays = ThoseThatSay(std::move(arrays), rank);
  std::stable_sort(arrays.begin(), arrays.end(), [](const DeviceTiling* one, const DeviceTiling* other) {
    return DigitCounts(*one) > DigitCounts(*other);
  });
  DeviceTiling result = DeviceTiling::Replicated(rank);
  for (const DeviceTiling& one : WhatIsAgreed(arrays, rank)) result.MergeFrom(one);
  return result;
}

DeviceTiling AgreedProduct(const HloInstruction& dot, const DeviceTiling& lhs, const DeviceTiling& rhs) {
  const DotDims& dims = dot.dot_dims();
  const int64_t rank = dot.shape().rank();
  int64_t next = static_cast<int64_t>(dims.lhs_batch.size());
  const DeviceTiling of_lhs = InProduct(lhs, dims.lhs_batch, dims.lhs_contracting, rank, &next);
  const DeviceTiling of_rhs = InProduct(rhs, dims.rhs_batch, dims.rhs_contracting, rank, &next);
  Arrays arrays = {&of_lhs, &of_rhs};
  const Shape &one = dot.operand(0)->shape(), &other = dot.operand(1)->shape();
  if (other.ElementCount() > one.ElementCount()) std::swap(arrays[0], arrays[1]);
  arrays = ThoseThatSay(std::move(arrays), rank);
  DeviceTiling result = DeviceTiling::Replicated(rank);
  for (const DeviceTiling& said : WhatIsAgreed(arrays, rank)) {
    result.set_order(said.order());
    AddUnused(said, &result);
  }
  return result;
}

bool IsAnnotated(const HloInstruction& root, size_t l) {
  if (root.opcode() != HloOpcode::kTuple || l >= root.operands().size()) return false;
  for (size_t o = 0; o <= l; ++o) {
    if (root.operand(o)->shape().IsTuple()) return false;
  }
  const HloInstruction* value = root.operand(l);
  while (true) {
    const bool element = value->opcode() == HloOpcode::kGetTupleElement;
    const HloInstruction* call = element ? value->operand(0) : value;
    if (call->opcode() != HloOpcode::kCall) break;
    const HloInstruction* given = call->called(0)->root();
    if (element && given->opcode() != HloOpcode::kTuple) break;
    value = element ? given->operand(value->tuple_index()) : given;
  }
  return value->opcode() == HloOpcode::kCustomCall && value->custom_call_target() == "Sharding";
}

int64_t ChosenBranch(const HloInstruction& conditional) {
  const HloInstruction* index = conditional.operand(0);
  const bool clamped = index->opcode() == HloOpcode::kClamp && index->operand(0)->IsConstant() &&
                       index->operand(1)->IsConstant() && index->operand(2)->IsConstant();
  if (!clamped && !index->IsConstant()) return -1;
  const auto number = [](const HloInstruction* constant) { return constant->literal().GetInt(0); };
  int64_t branch = number(clamped ? index->operand(1) : index);
  if (clamped) branch = std::min(std::max(branch, number(index->operand(0))), number(index->operand(2)));
  if (index->type() == ElementType::kPred) return branch == 0 ? 1 : 0;
  const int64_t last = static_cast<int64_t>(conditional.called_computations().size()) - 1;
  return branch < 0 || branch > last ? last : branch;
}

}  // namespace xc
