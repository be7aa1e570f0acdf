// Walks over a plan: which function writes which step, functions that several steps share, and modules.
#include "backends/gpu/emitter.h"

#include <variant>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "backends/gpu/emitter_impl.h"
#include "hlo/base/status.h"

namespace xc::gpu {
namespace {

// Kernels in a module, which is compiled in one piece.
constexpr int kModuleFunctions = 24;
// Bytes that a 32-bit index can count, with room for what is computed on the way.
constexpr int64_t kMostIndexed = int64_t{1} << 30;

// Whether an attribute of the instruction or an array of it needs 64-bit positions.
bool IsWide(const HloInstruction& i) {
  for (const auto& [index, leaf] : Leaves(i.shape())) {
    if (leaf->IsArray() && leaf->ByteSize() >= kMostIndexed) return true;
  }
  const auto far = [](int64_t value) { return value >= kMostIndexed || value <= -kMostIndexed; };
  if (const auto* window = i.FindAttr<AttrKind::kWindow>()) {
    for (const WindowDim& w : window->dims) {
      if (far(w.stride) || far(w.padding_low) || far(w.padding_high) || far(w.window_dilation) ||
          far(w.base_dilation)) {
        return true;
      }
    }
  }
  if (const auto* padding = i.FindAttr<AttrKind::kPadding>()) {
    for (const PaddingDim& p : padding->dims) {
      if (far(p.low) || far(p.high) || far(p.interior)) return true;
    }
  }
  return false;
}

// A function that `function` calls, at any depth, and that nobody has written.
std::string MissingCallee(const llvm::Function& function) {
  std::vector<const llvm::Function*> work = {&function};
  absl::flat_hash_set<const llvm::Function*> seen = {&function};
  while (!work.empty()) {
    const llvm::Function* next = work.back();
    work.pop_back();
    if (next->isIntrinsic()) continue;
    if (next->isDeclaration()) return next->getName().str();
    for (const llvm::BasicBlock& block : *next) {
      for (const llvm::Instruction& i : block) {
        const auto* call = llvm::dyn_cast<llvm::CallInst>(&i);
        const llvm::Function* callee = call == nullptr ? nullptr : call->getCalledFunction();
        if (callee != nullptr && seen.insert(callee).second) work.push_back(callee);
      }
    }
  }
  return "";
}

}  // namespace

bool AnyWide(const HloInstruction& instruction) {
  if (IsWide(instruction)) return true;
  for (const HloInstruction* operand : instruction.operands()) {
    if (IsWide(*operand)) return true;
  }
  if (instruction.opcode() != HloOpcode::kFusion) return false;
  for (const auto& i : instruction.fused_computation()->instructions()) {
    if (i->opcode() == HloOpcode::kFusion ? AnyWide(*i) : IsWide(*i)) return true;
  }
  return false;
}

Regions RegionsOf(const PlannedKernel& kernel) {
  switch (kernel.kernel.form) {
    case plan::Form::kLoop:
    case plan::Form::kRowReduce:
      return LoopRegions(kernel);
    case plan::Form::kColumnReduce:
      return ColumnRegions(kernel);
    case plan::Form::kStitched:
      return StitchedRegions(kernel);
    case plan::Form::kConcatenate:
      return ConcatenateRegions(kernel);
    case plan::Form::kInterleave:
      return InterleaveRegions(kernel);
    case plan::Form::kUpdate:
      return UpdateRegions(kernel);
    case plan::Form::kScatter:
      return ScatterRegions(kernel);
    case plan::Form::kSelectAndScatter:
      return SelectAndScatterRegions(kernel);
    case plan::Form::kTranspose:
      return {};
  }
  return {};
}

absl::Status Emitter::CloseModule() {
  if (module_ == nullptr) return absl::OkStatus();
  if (functions_ > 0) {
    std::string ir;
    XC_ASSIGN_OR_RETURN(std::string ptx, module_->Compile(options_.keep_ir ? &ir : nullptr));
    emitted_.ptx.push_back(std::move(ptx));
    if (options_.keep_ir) emitted_.ir.push_back(std::move(ir));
  }
  module_ = nullptr;
  functions_ = 0;
  return absl::OkStatus();
}

absl::StatusOr<int> Emitter::Write(const std::vector<Parameter>& parameters, int index_bits,
                                   const std::function<absl::Status(KernelFunction&)>& write) {
  if (options_.deadline != absl::InfiniteFuture() && absl::Now() > options_.deadline) {
    return absl::DeadlineExceededError("writing code took longer than the compile deadline allows");
  }
  if (functions_ == kModuleFunctions) XC_RETURN_IF_ERROR(CloseModule());
  const std::string name = absl::StrCat("xc_k", emitted_.kernels.size());
  if (module_ == nullptr) {
    XC_ASSIGN_OR_RETURN(module_, PtxModule::Make(absl::StrCat("kernels_", emitted_.ptx.size()), target_));
  }
  codegen::CodegenTarget codegen = CodegenTargetOf(target_);
  codegen.index_bits = index_bits;
  KernelFunction function(module_->module(), name, parameters, codegen);
  absl::Status status = write(function);
  if (status.ok()) {
    DefineDeviceComplexMath(module_->module());
    DefineDeviceMath(module_->module());
    if (std::string missing = MissingCallee(*function.function()); !missing.empty()) {
      status = absl::UnimplementedError(absl::StrCat("there is no ", missing, " for GPUs"));
    }
  }
  if (!status.ok()) {
    // Half of a function may not stay in the module.
    function.function()->deleteBody();
    function.function()->eraseFromParent();
    return status;
  }
  KernelCode code = function.Finish();
  code.module = static_cast<int>(emitted_.ptx.size());
  emitted_.kernels.push_back(std::move(code));
  ++functions_;
  return static_cast<int>(emitted_.kernels.size()) - 1;
}

absl::Status Emitter::EmitKernel(const plan::Step& step, const HloInstruction& instruction,
                                 const plan::Kernel& kernel) {
  if (auto it = refused_.find(kernel.code); it != refused_.end()) return absl::UnimplementedError(it->second);
  const bool aligned = IsAligned(kernel);
  auto [it, fresh] = codes_.try_emplace({kernel.code, aligned}, 0);
  if (fresh) {
    std::vector<Parameter> parameters;
    for (const plan::Argument& argument : kernel.arguments) {
      parameters.push_back({argument.written, argument.shared, aligned});
    }
    const auto write = [&](KernelFunction& f) {
      const PlannedKernel planned(f, &instruction, kernel);
      return kernel.form == plan::Form::kTranspose ? EmitTransposes(planned) : f.ForEach(RegionsOf(planned));
    };
    const absl::StatusOr<int> function = Write(parameters, AnyWide(instruction) ? 64 : 32, write);
    if (!function.ok()) {
      codes_.erase(it);
      if (absl::IsUnimplemented(function.status())) refused_[kernel.code] = std::string(function.status().message());
      return function.status();
    }
    it->second = *function;
  }
  Launch launch;
  launch.kernel = it->second;
  for (const plan::Argument& argument : kernel.arguments) launch.arguments.push_back(argument.slice);
  emitted_.launches[&step].push_back(std::move(launch));
  return absl::OkStatus();
}

absl::Status Emitter::AddLaunch(const plan::Step& step, const std::string& key,
                                const std::vector<Parameter>& parameters, std::vector<BufferSlice> arguments,
                                int64_t scratch_bytes, int index_bits,
                                const std::function<absl::Status(KernelFunction&)>& write) {
  auto [it, fresh] = calls_.try_emplace(key, 0);
  if (fresh) {
    const absl::StatusOr<int> function = Write(parameters, index_bits, write);
    if (!function.ok()) {
      calls_.erase(key);
      return function.status();
    }
    it->second = *function;
  }
  emitted_.launches[&step].push_back({it->second, std::move(arguments), scratch_bytes});
  return absl::OkStatus();
}

absl::Status Emitter::AddCall(const plan::Step& step, const std::string& key, std::vector<BufferSlice> arguments,
                              int written, int64_t scratch_bytes,
                              const std::function<absl::Status(KernelFunction&)>& write) {
  const int count = static_cast<int>(arguments.size());
  std::vector<Parameter> parameters;
  std::string whole_key = key;
  for (int i = 0; i < count; ++i) {
    Parameter parameter{i + written >= count, false};
    for (int k = 0; k < count; ++k) parameter.shared |= k != i && arguments[k] == arguments[i];
    absl::StrAppend(&whole_key, parameter.shared ? "s" : "-");
    parameters.push_back(parameter);
  }
  if (scratch_bytes > 0) parameters.push_back({true, false});
  return AddLaunch(step, whole_key, parameters, std::move(arguments), scratch_bytes,
                   AnyWide(*step.instruction) ? 64 : 32, write);
}

namespace {

// Whether nobody but the kernel that `call` ends with reads the product.
bool OnlyThenReads(const HloInstruction* result, const plan::LibraryCall& call) {
  for (const HloInstruction* user : result->users()) {
    if (user == call.then_of) continue;
    if (user->opcode() != HloOpcode::kReshape && user->opcode() != HloOpcode::kBitcast) return false;
    if (user == user->parent()->root() || !OnlyThenReads(user, call)) return false;
  }
  return result != result->parent()->root();
}

}  // namespace

bool Emitter::IsTaken(const plan::Step& step, const plan::LibraryCall& call) const {
  const auto* desc = std::get_if<MatmulDesc>(&std::get<plan::Descriptor>(call.arguments[0]));
  if (options_.take_product == nullptr || desc == nullptr) return false;
  const auto array = [&](size_t i) { return std::get<BufferSlice>(call.arguments[1 + i]); };
  return options_.take_product(step, *desc, {array(0), array(1), array(2)}).ok();
}

absl::Status Emitter::EmitProduct(const plan::Step& step, const plan::LibraryCall& call) {
  if (IsTaken(step, call)) {
    emitted_.launches[&step];
    return call.then == nullptr ? absl::OkStatus() : EmitKernel(step, *call.then_of, *call.then);
  }
  const auto& descriptor = std::get<plan::Descriptor>(call.arguments[0]);
  const auto* matmul = std::get_if<MatmulDesc>(&descriptor);
  const auto* convolution = std::get_if<ConvDesc>(&descriptor);
  std::string key = call.function;
  std::vector<BufferSlice> arguments;
  std::vector<Parameter> parameters;
  bool aligned = true;
  for (int i = 0; i < 3; ++i) {
    arguments.push_back(std::get<BufferSlice>(call.arguments[1 + i]));
    parameters.push_back({/*written=*/i == 2});
    aligned &= i == 2 || arguments[i].offset % kVectorBytes == 0;
  }
  parameters[0].aligned = parameters[1].aligned = aligned;
  parameters[0].shared = parameters[1].shared = arguments[0] == arguments[1];
  std::visit([&](const auto& data) { key.append(reinterpret_cast<const char*>(&data), sizeof(data)); }, descriptor);
  if (aligned) absl::StrAppend(&key, " aligned");
  const plan::Kernel* then = call.then.get();
  bool wide = AnyWide(*step.instruction), store = true;
  int known = -1;
  if (then != nullptr) {
    wide |= AnyWide(*call.then_of);
    for (const plan::Argument& a : then->arguments) {
      parameters.push_back({a.written, a.shared || a.slice == arguments[2]});
      parameters[2].shared |= a.slice == arguments[2];
      if (a.written && a.slice == arguments[2]) store = false;
      if (!a.written && a.slice == arguments[2]) known = static_cast<int>(&a - then->arguments.data());
      arguments.push_back(a.slice);
    }
    store = store && !OnlyThenReads(step.instruction, call);
    absl::StrAppend(&key, " then ", then->code, store ? " stored" : "");
  }
  return AddLaunch(step, key, parameters, std::move(arguments), 0, wide ? 64 : 32, [&](KernelFunction& f) {
    ProductResult result;
    if (then != nullptr) {
      result.store = store;
      result.then = [&](codegen::Element value, llvm::Value* number) {
        PlannedKernel kernel(f, call.then_of, *then, 3);
        kernel.known_argument = known;
        kernel.known = value;
        return EmitElement(kernel, number);
      };
    }
    return matmul != nullptr ? EmitMatmul(f, *matmul, result, aligned) : EmitConvolution(f, *convolution, result);
  });
}

absl::Status Emitter::EmitSortCall(const plan::Step& step, const plan::LibraryCall& call) {
  const auto& desc = std::get<SortDesc>(std::get<plan::Descriptor>(call.arguments[0]));
  std::vector<BufferSlice> arguments = std::get<std::vector<BufferSlice>>(call.arguments[1]);
  const auto& out = std::get<std::vector<BufferSlice>>(call.arguments[2]);
  arguments.insert(arguments.end(), out.begin(), out.end());
  // Each comparator has code of its own.
  const std::string key = absl::StrCat("sort ", step.instruction->name());
  return AddCall(step, key, std::move(arguments), desc.num_arrays, SortScratchBytes(desc),
                 [&](KernelFunction& f) { return EmitSort(f, *step.instruction, desc); });
}

absl::Status Emitter::EmitRandomCall(const plan::Step& step, const plan::LibraryCall& call) {
  const auto& desc = std::get<RngDesc>(std::get<plan::Descriptor>(call.arguments[0]));
  const auto& state = std::get<BufferSlice>(call.arguments[1]);
  const auto& array = std::get<BufferSlice>(call.arguments[3]);
  const std::string key(reinterpret_cast<const char*>(&desc), sizeof(desc));
  if (array.size > 0) {
    XC_RETURN_IF_ERROR(AddCall(step, absl::StrCat("random bits ", key), {state, array}, 1, 0,
                               [&](KernelFunction& f) { return EmitRandomBits(f, desc); }));
  }
  // Nobody may look at the next state.
  const auto* next = std::get_if<BufferSlice>(&call.arguments[2]);
  if (next == nullptr) return absl::OkStatus();
  return AddCall(step, absl::StrCat("next random state ", key), {state, *next}, 1, 0,
                 [&](KernelFunction& f) { return EmitNextRandomState(f, desc); });
}

absl::Status Emitter::EmitFftCall(const plan::Step& step, const plan::LibraryCall& call) {
  const auto& desc = std::get<FftDesc>(std::get<plan::Descriptor>(call.arguments[0]));
  const auto &in = std::get<BufferSlice>(call.arguments[1]), &out = std::get<BufferSlice>(call.arguments[2]);
  const std::string key(reinterpret_cast<const char*>(&desc), sizeof(desc));
  const bool in_place = in.kind == out.kind && in.index == out.index;  // perhaps
  XC_ASSIGN_OR_RETURN(const std::vector<FftPass> passes, FftPasses(desc, in_place));
  const int64_t scratch = FftScratchBytes(desc, passes);
  for (const FftPass& pass : passes) {
    std::vector<BufferSlice> arguments;
    if (pass.first) arguments.push_back(in);
    if (pass.last) arguments.push_back(out);
    XC_RETURN_IF_ERROR(AddCall(step, absl::StrCat("fft pass ", pass.number, " of ", passes.size(), " ", key),
                               std::move(arguments), pass.last ? 1 : 0, scratch,
                               [&](KernelFunction& f) { return EmitFftPass(f, desc, pass); }));
  }
  return absl::OkStatus();
}

absl::Status Emitter::EmitLibraryCall(const plan::Step& step, const plan::LibraryCall& call) {
  if (call.function == "xc_rt_sort") return EmitSortCall(step, call);
  if (call.function == "xc_rt_fft") return EmitFftCall(step, call);
  if (call.function == "xc_rt_top_k") {
    const auto& desc = std::get<TopKDesc>(std::get<plan::Descriptor>(call.arguments[0]));
    std::vector<BufferSlice> arguments;
    for (size_t i = 1; i < call.arguments.size(); ++i) arguments.push_back(std::get<BufferSlice>(call.arguments[i]));
    const std::string key(reinterpret_cast<const char*>(&desc), sizeof(desc));
    return AddCall(step, absl::StrCat("top k ", key), std::move(arguments), 2, desc.rows * desc.n * 4,
                   [&](KernelFunction& f) { return EmitTopK(f, desc); });
  }
  if (call.function == "xc_rt_rng_bit_generator") return EmitRandomCall(step, call);
  for (const char* product : {"xc_rt_matmul", "xc_rt_matmul_then", "xc_rt_convolution", "xc_rt_convolution_then"}) {
    if (call.function == product) return EmitProduct(step, call);
  }
  using WriteDesc = std::function<absl::Status(KernelFunction&, const plan::Descriptor&)>;
  static const auto* const kWriters = new absl::flat_hash_map<std::string, WriteDesc>{
      {"xc_rt_triangular_solve",
       [](KernelFunction& f, const auto& d) { return EmitTriangularSolve(f, std::get<TriangularSolveDesc>(d)); }},
      {"xc_rt_cholesky", [](KernelFunction& f, const auto& d) { return EmitCholesky(f, std::get<CholeskyDesc>(d)); }},
  };
  const auto writer = kWriters->find(call.function);
  if (writer == kWriters->end()) {
    return absl::UnimplementedError(absl::StrCat("there is no kernel for ", call.function));
  }
  std::string key = call.function;
  const auto& descriptor = std::get<plan::Descriptor>(call.arguments[0]);
  std::visit([&](const auto& data) { key.append(reinterpret_cast<const char*>(&data), sizeof(data)); }, descriptor);
  std::vector<BufferSlice> arguments;
  for (size_t i = 1; i < call.arguments.size(); ++i) arguments.push_back(std::get<BufferSlice>(call.arguments[i]));
  return AddCall(step, key, std::move(arguments), 1, 0,
                 [&](KernelFunction& f) { return writer->second(f, descriptor); });
}

absl::Status Emitter::EmitStep(const plan::Step& step) {
  if (emitted_.launches.contains(&step)) return absl::OkStatus();  // of a group
  if (const auto* kernel = std::get_if<plan::Kernel>(&step.action)) {
    return EmitKernel(step, *step.instruction, *kernel);
  }
  if (const auto* call = std::get_if<plan::LibraryCall>(&step.action)) return EmitLibraryCall(step, *call);
  return absl::OkStatus();
}

absl::StatusOr<EmittedPlan> Emitter::Run() {
  XC_RETURN_IF_ERROR(EmitGroups());
  for (const plan::Computation& computation : plan_.computations) {
    for (const plan::Step& step : computation.steps) {
      const absl::Status status = EmitStep(step);
      if (absl::IsUnimplemented(status)) {
        emitted_.launches.erase(&step);
        emitted_.reasons[&step] = std::string(status.message());
      } else if (!status.ok()) {
        return absl::Status(status.code(), absl::StrCat(absl::string_view(status.message()), " [emitting ",
                                                        step.instruction->name(), "]"));
      }
    }
  }
  XC_RETURN_IF_ERROR(CloseModule());
  return std::move(emitted_);
}

absl::StatusOr<EmittedPlan> EmitPlan(const plan::Plan& plan, const Target& target, const EmitOptions& options) {
  return Emitter(plan, target, options).Run();
}

}  // namespace xc::gpu
