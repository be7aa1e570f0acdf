// The interpreter behind the Backend interface.
#include "backends/backend.h"

#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "backends/interpreter/evaluator.h"
#include "compiler/expand/expand.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

// The leaf literals of a value, in order.
void CollectLeaves(const Literal& literal, std::vector<const Literal*>* out) {
  if (!literal.IsTuple()) {
    out->push_back(&literal);
    return;
  }
  for (const Literal& element : literal.tuple()) CollectLeaves(element, out);
}

// The next leaves, as a literal of `shape`.
Literal Assemble(const Shape& shape, std::vector<Literal>* leaves, size_t* next) {
  if (!shape.IsTuple()) return std::move((*leaves)[(*next)++]);
  std::vector<Literal> elements;
  for (const Shape& s : shape.tuple_shapes()) elements.push_back(Assemble(s, leaves, next));
  return Literal::Tuple(std::move(elements));
}

class InterpreterExecutable : public Executable {
 public:
  explicit InterpreterExecutable(std::unique_ptr<HloModule> module) : module_(std::move(module)) {
    SetSignature(*module_);
  }

  absl::Status Run(absl::Span<const void* const> parameters, absl::Span<void* const> results, const RunOptions& options,
                   std::vector<std::vector<int64_t>>* dynamic_sizes) const override {
    if (parameters.size() != parameter_leaves().size() || results.size() != result_leaves().size()) {
      return absl::InvalidArgumentError(absl::StrCat("the program has ", parameter_leaves().size(), " inputs and ",
                                                     result_leaves().size(), " outputs, but ", parameters.size(),
                                                     " and ", results.size(), " buffers are given"));
    }
    std::vector<Literal> leaves;
    for (size_t i = 0; i < parameters.size(); ++i) {
      Literal literal(parameter_leaves()[i]);
      if (literal.shape().IsArray()) literal.FromLayout(static_cast<const uint8_t*>(parameters[i]));
      leaves.push_back(std::move(literal));
    }
    std::vector<Literal> arguments;
    size_t next = 0;
    for (const HloInstruction* parameter : module_->entry()->parameters()) {
      arguments.push_back(Assemble(parameter->shape(), &leaves, &next));
    }
    std::vector<const Literal*> pointers;
    for (const Literal& argument : arguments) pointers.push_back(&argument);
    EvaluatorOptions evaluator_options;
    evaluator_options.infeed = options.infeed;
    evaluator_options.outfeed = options.outfeed;
    evaluator_options.device = options.device;
    if (options.deadline != absl::InfiniteFuture()) {
      evaluator_options.time_limit = std::max(options.deadline - absl::Now(), absl::ZeroDuration());
    }
    XC_ASSIGN_OR_RETURN(Literal result, Evaluator(evaluator_options).Evaluate(*module_, pointers));
    std::vector<const Literal*> result_leaf_literals;
    CollectLeaves(result, &result_leaf_literals);
    for (size_t i = 0; i < results.size(); ++i) {
      if (!result_leaves()[i].IsArray()) continue;
      const Literal& leaf = *result_leaf_literals[i];
      Literal in_layout = leaf.dynamic_sizes().empty() ? leaf.Clone() : ZeroBeyondSizes(leaf);
      *in_layout.mutable_shape() = result_leaves()[i];
      in_layout.ToLayout(static_cast<uint8_t*>(results[i]));
    }
    if (dynamic_sizes != nullptr) {
      dynamic_sizes->clear();
      for (const Literal* leaf : result_leaf_literals) dynamic_sizes->push_back(leaf->dynamic_sizes());
    }
    return absl::OkStatus();
  }

  int64_t temp_bytes() const override { return 0; }
  int64_t size_bytes() const override { return 1024 + 256 * module_->InstructionCount(); }
  std::string Text(absl::string_view name) const override {
    return name == "optimized_hlo" ? module_->ToString() : Executable::Text(name);
  }

 private:
  std::unique_ptr<HloModule> module_;
};

class Interpreter : public Backend {
 public:
  absl::string_view name() const override { return "interpreter"; }
  absl::StatusOr<TargetInfo> Target(const CompileOptions&) const override {
    TargetInfo target;
    target.passes = false;  // modules are evaluated as they are written
    return target;
  }
  absl::StatusOr<std::unique_ptr<Executable>> Compile(std::unique_ptr<HloModule> module,
                                                      const CompileOptions&) override {
    PassContext context;
    XC_RETURN_IF_ERROR(ExpandCollectives(module.get(), context).status());
    return std::unique_ptr<Executable>(std::make_unique<InterpreterExecutable>(std::move(module)));
  }
};

}  // namespace

Backend* InterpreterBackend() {
  static Interpreter* const kBackend = new Interpreter();
  return kBackend;
}

}  // namespace xc
