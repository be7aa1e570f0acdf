#include "tools/reduce.h"

#include <algorithm>
#include <vector>

#include "absl/time/clock.h"
#include "hlo/verifier/verifier.h"

namespace xc {
namespace {

HloInstruction* FindByName(const HloComputation& computation, const std::string& name) {
  for (const auto& instruction : computation.instructions()) {
    if (instruction->name() == name) return instruction.get();
  }
  return nullptr;
}

bool HoldsArraysOnly(const Shape& shape) {
  for (const Shape& element : shape.tuple_shapes()) {
    if (!HoldsArraysOnly(element)) return false;
  }
  return shape.IsArray() || shape.IsTuple();
}

void SetResult(HloModule* module, HloInstruction* root) {
  module->entry()->set_root(root);
  ModuleConfig& config = module->config();
  config.entry_result_layout = WithDefaultLayout(root->shape());
  config.input_output_alias.clear();
  config.buffer_donors.clear();
  config.allow_spmd_sharding_propagation_to_output.clear();
}

void CleanUp(HloModule* module) {
  for (const auto& computation : module->computations()) computation->RemoveDead();
  module->RemoveUnusedComputations();
}

// Parameters of the entry that nothing uses go.
void DropParameters(HloModule* module) {
  HloComputation* entry = module->entry();
  ModuleConfig& config = module->config();
  for (int64_t i = entry->parameter_count() - 1; i >= 0; --i) {
    HloInstruction* parameter = entry->parameter(i);
    if (parameter->user_count() > 0 || parameter->IsRoot()) continue;
    entry->RemoveParameter(i);
    if (i < static_cast<int64_t>(config.entry_parameter_layouts.size())) {
      config.entry_parameter_layouts.erase(config.entry_parameter_layouts.begin() + i);
    }
    config.allow_spmd_sharding_propagation_to_parameters.clear();
    config.input_output_alias.clear();
    config.buffer_donors.clear();
  }
}

class Reducer {
 public:
  Reducer(std::unique_ptr<HloModule> module, const std::function<bool(const HloModule&)>& fails,
          const ReduceOptions& options)
      : module_(std::move(module)), fails_(fails), options_(options) {}

  std::unique_ptr<HloModule> Run() {
    // What only stands in the way of changes.
    Try([](HloModule* module) {
      module->schedule().clear();
      module->config().is_scheduled = false;
      module->config().input_output_alias.clear();
      module->config().buffer_donors.clear();
      return true;
    });
    while (!Late()) {
      bool any = EarlierResult();
      any |= PartsOfResult();
      any |= Replacements();
      any |= Try([](HloModule* module) {
        const int64_t before = module->entry()->parameter_count();
        DropParameters(module);
        return module->entry()->parameter_count() < before;
      });
      if (!any) break;
    }
    return std::move(module_);
  }

 private:
  bool Late() const { return absl::Now() > options_.deadline; }

  // Keeps the changed copy if it is valid and fails as well.
  template <typename Change>
  bool Try(const Change& change) {
    if (Late()) return false;
    std::unique_ptr<HloModule> copy = module_->Clone();
    if (!change(copy.get())) return false;
    CleanUp(copy.get());
    if (!VerifyModule(*copy).ok() || !fails_(*copy)) return false;
    module_ = std::move(copy);
    if (options_.progress) options_.progress(*module_);
    return true;
  }

  // The earliest instruction that fails as the result: by halves as long as that works, then one by one.
  bool EarlierResult() {
    bool any = false;
    for (bool again = true; again && !Late();) {
      again = false;
      std::vector<std::string> names;
      for (const HloInstruction* instruction : module_->entry()->PostOrder()) {
        const bool leaf = instruction->operands().empty() || instruction->opcode() == HloOpcode::kTuple;
        if (!leaf && !instruction->IsRoot() && HoldsArraysOnly(instruction->shape())) {
          names.push_back(instruction->name());
        }
      }
      const size_t size = names.size();
      for (size_t part = 2; part <= 16 && !again && size >= part; part *= 2) again = ReturnOnly(names[size / part]);
      for (size_t i = 0; i < size && !again; ++i) again = ReturnOnly(names[i]);
      any |= again;
    }
    return any;
  }

  bool ReturnOnly(const std::string& name) {
    return Try([&](HloModule* module) {
      HloInstruction* root = FindByName(*module->entry(), name);
      if (root == nullptr) return false;
      SetResult(module, root);
      return true;
    });
  }

  bool PartsOfResult() {
    if (module_->entry()->root()->opcode() != HloOpcode::kTuple) return false;
    bool any = false;
    const int64_t size = module_->entry()->root()->operand_count();
    for (int64_t i = 0; i < size && size > 1; ++i) {
      if (Try([&](HloModule* module) {
            HloInstruction* operand = module->entry()->root()->operand(i);
            SetResult(module, operand);
            return HoldsArraysOnly(operand->shape());
          })) {
        return true;
      }
    }
    for (int64_t i = size - 1; i >= 0; --i) {
      any |= Try([&](HloModule* module) {
        HloComputation* entry = module->entry();
        std::vector<HloInstruction*> operands = entry->root()->operands();
        if (operands.size() < 2 || i >= static_cast<int64_t>(operands.size())) return false;
        operands.erase(operands.begin() + i);
        std::vector<Shape> shapes;
        for (const HloInstruction* operand : operands) shapes.push_back(operand->shape());
        SetResult(module, entry->Add(HloOpcode::kTuple, Shape::Tuple(shapes), operands));
        return true;
      });
    }
    return any;
  }

  // An operand of the same shape, a new parameter (in the entry) or zeros for an instruction.
  bool Replacements() {
    bool any = false;
    std::vector<std::pair<std::string, std::string>> places;  // computation, instruction
    for (const auto& computation : module_->computations()) {
      for (const HloInstruction* instruction : computation->PostOrder()) {
        places.push_back({computation->name(), instruction->name()});
      }
    }
    for (const auto& [computation, instruction] : places) {
      if (Late()) break;
      any |= ReplaceOne(computation, instruction);
    }
    return any;
  }

  template <typename Replace>
  bool TryReplace(const std::string& computation, const std::string& name, const Replace& replacement) {
    return Try([&](HloModule* module) {
      for (const auto& candidate : module->computations()) {
        if (candidate->name() != computation) continue;
        HloInstruction* instruction = FindByName(*candidate, name);
        if (instruction == nullptr || instruction->operands().empty()) return false;
        HloInstruction* other = replacement(candidate.get(), instruction);
        if (other == nullptr) return false;
        instruction->RemoveControlDependencies();
        instruction->ReplaceAllUsesWith(other);
        return true;
      }
      return false;
    });
  }

  bool ReplaceOne(const std::string& computation, const std::string& name) {
    if (TryReplace(computation, name, [](HloComputation*, HloInstruction* instruction) -> HloInstruction* {
          for (HloInstruction* operand : instruction->operands()) {
            if (SameShape(operand->shape(), instruction->shape())) return operand;
          }
          return nullptr;
        })) {
      return true;
    }
    if (TryReplace(computation, name, [](HloComputation* in, HloInstruction* instruction) -> HloInstruction* {
          if (!in->IsEntry() || !instruction->shape().IsArray() || instruction->IsRoot()) return nullptr;
          const int64_t number = in->parameter_count();
          ModuleConfig& config = in->module()->config();
          if (config.has_entry_layout) {
            config.entry_parameter_layouts.push_back(WithDefaultLayout(instruction->shape()));
          }
          config.allow_spmd_sharding_propagation_to_parameters.clear();
          return in->Add(HloInstruction::CreateParameter(number, instruction->shape(), "cut"));
        })) {
      return true;
    }
    return TryReplace(computation, name, [](HloComputation* in, HloInstruction* instruction) -> HloInstruction* {
      const Shape& shape = instruction->shape();
      if (in->IsEntry() || !shape.IsArray() || shape.is_dynamic() || shape.ByteSize() > 4096) return nullptr;
      return in->Add(HloInstruction::CreateConstant(Literal(shape)));
    });
  }

  std::unique_ptr<HloModule> module_;
  const std::function<bool(const HloModule&)>& fails_;
  const ReduceOptions& options_;
};

}  // namespace

std::unique_ptr<HloModule> WithRoot(const HloModule& module, const std::string& name) {
  std::unique_ptr<HloModule> copy = module.Clone();
  HloInstruction* root = FindByName(*copy->entry(), name);
  if (root == nullptr || !HoldsArraysOnly(root->shape())) return nullptr;
  copy->schedule().clear();
  copy->config().is_scheduled = false;
  SetResult(copy.get(), root);
  CleanUp(copy.get());
  return copy;
}

std::unique_ptr<HloModule> ReduceModule(std::unique_ptr<HloModule> module,
                                        const std::function<bool(const HloModule&)>& fails,
                                        const ReduceOptions& options) {
  return Reducer(std::move(module), fails, options).Run();
}

}  // namespace xc
