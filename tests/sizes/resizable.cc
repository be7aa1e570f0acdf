#include "tests/sizes/resizable.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "hlo/base/status.h"
#include "hlo/verifier/verifier.h"
#include "tests/sizes/size_rules.h"

namespace xc {
namespace {

// The shape with the sizes of its leaves, from *next on.
void SetSizes(Shape* shape, const std::vector<std::vector<int64_t>>& leaves, size_t* next) {
  if (shape->IsTuple()) {
    for (Shape& part : shape->mutable_tuple_shapes()) SetSizes(&part, leaves, next);
    return;
  }
  const std::vector<int64_t>& dims = leaves[(*next)++];
  if (!shape->IsArray()) return;
  for (size_t d = 0; d < dims.size(); ++d) shape->set_dim(static_cast<int64_t>(d), dims[d]);
}

// A constant of equal elements with another number of them.
std::shared_ptr<const Literal> Spread(const Literal& literal, const Shape& shape) {
  auto spread = std::make_shared<Literal>(WithoutLayout(shape));
  const int64_t each = literal.byte_size() / std::max<int64_t>(1, literal.size());
  for (int64_t i = 0; i < spread->size(); ++i) {
    std::copy_n(literal.bytes(), each, spread->mutable_bytes() + i * each);
  }
  return spread;
}

}  // namespace

absl::StatusOr<Resizable> Resizable::Of(std::unique_ptr<HloModule> module) {
  for (const auto& computation : module->computations()) {
    for (const auto& i : computation->instructions()) {
      if (i->shape().is_dynamic() || i->opcode() == HloOpcode::kSetDimensionSize) {
        return absl::UnimplementedError(absl::StrCat(i->name(), " has sizes that only the run knows"));
      }
    }
  }
  Resizable all;
  all.module_ = std::move(module);
  all.module_->RemoveUnusedComputations();
  SizeRules(&all).Run();
  std::set<int> seen;
  const auto add = [&](const HloInstruction* i, bool parameter) {
    for (const Leaf& leaf : all.leaves_.at(i->id())) {
      for (size_t d = 0; d < leaf.size(); ++d) {
        for (int id : all.unknown_.Free(leaf[d])) {
          if (!seen.insert(id).second) continue;
          all.symbols_.push_back(
              {id, all.unknown_.Original(id), parameter ? absl::StrCat(i->name(), ".", d) : std::string()});
        }
      }
    }
  };
  for (const HloInstruction* parameter : all.module_->entry()->parameters()) add(parameter, true);
  for (const HloComputation* computation : all.module_->ComputationPostOrder()) {
    for (const HloInstruction* i : computation->PostOrder()) add(i, false);
  }
  return all;
}

int64_t Resizable::Uses(int id) const {
  int64_t uses = 0;
  for (const auto& [instruction, leaves] : leaves_) {
    for (const Leaf& leaf : leaves) {
      for (const SizeExpression& size : leaf) uses += unknown_.Free(size).contains(id);
    }
  }
  return uses;
}

absl::StatusOr<std::unique_ptr<HloModule>> Resizable::Resized(const std::map<int, int64_t>& values) const {
  std::unique_ptr<HloModule> module = module_->Clone();
  bool positive = true;
  const auto numbers_of = [&](const Leaf& leaf) {
    std::vector<int64_t> sizes;
    for (const SizeExpression& e : leaf) {
      sizes.push_back(unknown_.Value(e, values));
      positive &= sizes.back() >= 0;
    }
    return sizes;
  };
  const auto resize = [&](const HloInstruction& i, Shape* shape) {
    std::vector<std::vector<int64_t>> leaves;
    for (const Leaf& leaf : leaves_.at(i.id())) leaves.push_back(numbers_of(leaf));
    size_t next = 0;
    SetSizes(shape, leaves, &next);
  };
  for (const auto& computation : module->computations()) {
    for (const auto& i : computation->instructions()) {
      resize(*i, i->mutable_shape());
      if (!positive) return absl::OutOfRangeError(absl::StrCat(i->name(), " would have a negative size"));
      if (i->IsConstant() && i->literal().shape().dims() != i->shape().dims()) {
        i->set_literal(Spread(i->literal(), i->shape()));
      }
      const auto it = numbers_.find(i->id());
      if (it == numbers_.end()) continue;
      const Numbers& numbers = it->second;
      if (i->opcode() == HloOpcode::kSlice) {
        SliceAttr slice = i->slice();
        slice.starts = numbers_of(numbers.slice_starts);
        slice.limits = numbers_of(numbers.slice_limits);
        i->set_attr<AttrKind::kSlice>(std::move(slice));
      } else if (i->opcode() == HloOpcode::kDynamicSlice) {
        i->set_attr<AttrKind::kDynamicSliceSizes>(numbers_of(numbers.sizes));
      } else if (i->opcode() == HloOpcode::kGather) {
        i->set_attr<AttrKind::kSliceSizes>(numbers_of(numbers.sizes));
      } else if (i->opcode() == HloOpcode::kReduceWindow) {
        WindowAttr window = i->window();
        const std::vector<int64_t> sizes = numbers_of(numbers.windows);
        for (size_t d = 0; d < sizes.size(); ++d) {
          WindowDim& w = window.dims[d];
          // Those that reach over the whole dimension, with padding for that.
          if (w.padding_low == w.size - 1 && w.size > 1) w.padding_low = sizes[d] - 1;
          if (w.padding_high == w.size - 1 && w.size > 1) w.padding_high = sizes[d] - 1;
          w.size = sizes[d];
        }
        i->set_attr<AttrKind::kWindow>(std::move(window));
      }
    }
  }
  ModuleConfig& config = module->config();
  const HloComputation* entry = module->entry();
  for (size_t p = 0; p < config.entry_parameter_layouts.size(); ++p) {
    resize(*entry->parameter(static_cast<int64_t>(p)), &config.entry_parameter_layouts[p]);
  }
  if (config.has_entry_layout) resize(*entry->root(), &config.entry_result_layout);
  XC_RETURN_IF_ERROR(VerifyModule(*module));
  return module;
}

}  // namespace xc
