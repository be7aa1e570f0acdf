// The driver's functions for modules, kernels and launches.
#include <algorithm>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "backends/gpu/emulator/device.h"
#include "backends/gpu/emulator/ptx.h"

namespace xc::cuda {
namespace {

using emulator::Fault;
using emulator::ParsedModule;
using emulator::Variable;

constexpr int64_t kSharedWithoutAsking = 48 << 10;

int64_t MostShared() { return emulator::State().options.arch >= 90 ? 232448 : 166912; }

// Puts the variables where kernels reach them.
absl::Status PlaceVariables(const ParsedModule& parsed, CUmod_st* module, emulator::Symbols* symbols) {
  emulator::Memory& memory = module->context->memory;
  for (const Variable& v : parsed.variables) {
    if (v.space != emulator::Space::kGlobal && v.space != emulator::Space::kConst) continue;
    if (v.is_external) return absl::InvalidArgumentError(absl::StrCat("variable ", v.name, " is not defined"));
    const uint64_t address = memory.Allocate(std::max<int64_t>(v.bytes, 1));
    if (address == 0) return absl::ResourceExhaustedError(absl::StrCat("no memory for variable ", v.name));
    uint8_t* at = reinterpret_cast<uint8_t*>(address);
    std::memset(at, 0, static_cast<size_t>(std::max<int64_t>(v.bytes, 1)));
    std::memcpy(at, v.value.data(), v.value.size());
    module->globals[v.name] = {address, v.bytes};
    (*symbols)[v.name] = address;
  }
  for (const Variable& v : parsed.variables) {
    for (const emulator::Relocation& r : v.relocations) {
      const auto found = symbols->find(r.symbol);
      if (found == symbols->end()) return absl::InvalidArgumentError(absl::StrCat("unknown name ", r.symbol));
      if (r.offset + 8 > v.bytes) return absl::InvalidArgumentError(absl::StrCat("no room for an address in ", v.name));
      const uint64_t address = found->second + static_cast<uint64_t>(r.addend);
      std::memcpy(reinterpret_cast<uint8_t*>(module->globals[v.name].address) + r.offset, &address, 8);
    }
  }
  return absl::OkStatus();
}

// "sm_90a" runs on 90 alone; "sm_80" on 80 and above.
bool RunsOn(const std::string& target, int arch) {
  int wanted = 0;
  size_t at = 3;
  for (; at < target.size() && target[at] >= '0' && target[at] <= '9' && wanted < 1000; ++at) {
    wanted = wanted * 10 + (target[at] - '0');
  }
  if (target.compare(0, 3, "sm_") != 0 || wanted == 0) return false;
  return at < target.size() ? wanted == arch : wanted <= arch;
}

CUresult Load(absl::string_view text, CUmod_st* module, std::string* log) {
  absl::StatusOr<ParsedModule> parsed = emulator::ParsePtx(text);
  if (!parsed.ok()) {
    *log = std::string(parsed.status().message());
    return CUDA_ERROR_INVALID_PTX;
  }
  const int arch = emulator::State().options.arch;
  if (parsed->version_major == 0 || parsed->version_major > 9) {
    *log = absl::StrCat("PTX version ", parsed->version_major, ".", parsed->version_minor, " is not known");
    return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  }
  if (!RunsOn(parsed->target, arch)) {
    *log = absl::StrCat("PTX for ", parsed->target, " does not run on sm_", arch);
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  emulator::Symbols symbols;
  absl::Status status = PlaceVariables(*parsed, module, &symbols);
  for (const emulator::Function& f : parsed->functions) {
    if (!status.ok()) break;
    if (!f.is_entry || f.is_declaration) continue;
    auto kernel = emulator::DecodeKernel(*parsed, f, symbols);
    if (!kernel.ok()) {
      status = kernel.status();
    } else if ((*kernel)->shared_bytes > kSharedWithoutAsking) {
      status =
          absl::InvalidArgumentError(absl::StrCat("kernel ", f.name, " uses ", (*kernel)->shared_bytes,
                                                  " bytes of static shared memory, more than ", kSharedWithoutAsking));
    } else {
      auto function = std::make_unique<CUfunc_st>();
      function->module = module;
      function->kernel = *std::move(kernel);
      function->dynamic_shared_limit = kSharedWithoutAsking - function->kernel->shared_bytes;
      module->functions[f.name] = std::move(function);
    }
  }
  if (status.ok()) return CUDA_SUCCESS;
  *log = std::string(status.message());
  return status.code() == absl::StatusCode::kResourceExhausted ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_PTX;
}

int CodeOf(Fault::Kind kind) {
  switch (kind) {
    case Fault::kAddress:
      return CUDA_ERROR_ILLEGAL_ADDRESS;
    case Fault::kMisaligned:
      return CUDA_ERROR_MISALIGNED_ADDRESS;
    case Fault::kAssert:
      return CUDA_ERROR_ASSERT;
    case Fault::kTimeout:
      return CUDA_ERROR_LAUNCH_TIMEOUT;
    case Fault::kIllegal:
      return CUDA_ERROR_ILLEGAL_INSTRUCTION;
    default:
      return CUDA_ERROR_LAUNCH_FAILED;
  }
}

CUresult LaunchOn(CUfunction function, const unsigned* grid, const unsigned* block, unsigned shared_bytes,
                  CUstream handle, void** parameters, void** extra) {
  CUstream_st* stream = emulator::StreamOf(handle);
  if (stream == nullptr || function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (extra != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  const emulator::Kernel* kernel = function->kernel.get();
  const uint64_t threads = uint64_t{block[0]} * block[1] * block[2];
  const bool fits = grid[0] >= 1 && grid[1] >= 1 && grid[2] >= 1 && grid[0] <= 2147483647 && grid[1] <= 65535 &&
                    grid[2] <= 65535 && threads >= 1 && block[0] <= 1024 && block[1] <= 1024 && block[2] <= 64;
  if (!fits || threads > 1024) return CUDA_ERROR_INVALID_VALUE;
  if (threads > static_cast<uint64_t>(kernel->max_threads)) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  if (kernel->required[0] != 0 && !std::equal(kernel->required, kernel->required + 3, block)) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  if (shared_bytes > function->dynamic_shared_limit) return CUDA_ERROR_INVALID_VALUE;
  if (parameters == nullptr && !kernel->parameters.empty()) return CUDA_ERROR_INVALID_VALUE;
  emulator::Launch launch;
  launch.kernel = kernel;
  launch.memory = &function->module->context->memory;
  std::copy_n(grid, 3, launch.grid);
  std::copy_n(block, 3, launch.block);
  launch.dynamic_shared_bytes = shared_bytes;
  auto values = std::make_shared<std::vector<uint8_t>>(static_cast<size_t>(kernel->parameter_bytes) + 1);
  for (size_t n = 0; n < kernel->parameters.size(); ++n) {
    if (parameters[n] == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(values->data() + kernel->parameters[n].offset, parameters[n],
                static_cast<size_t>(kernel->parameters[n].bytes));
  }
  CUctx_st* context = function->module->context;
  emulator::Enqueue(stream, [launch, values, context]() mutable {
    emulator::DriverState& state = emulator::State();
    launch.parameters = values->data();
    launch.options = state.options.launch;
    launch.id = ++context->launches;
    launch.fault = {};
    launch.executed = 0;
    emulator::Run(&launch);
    state.executed += static_cast<uint64_t>(launch.executed);
    if (launch.fault.kind == Fault::kNone) return;
    context->fault = CodeOf(launch.fault.kind);
    context->fault_text = launch.fault.text;
    state.last_fault = launch.fault.text;
    state.last_fault_code = context->fault;
  });
  return CUDA_SUCCESS;
}

}  // namespace

XC_EXPORTED CUresult cuModuleLoadDataEx(CUmodule* module, const void* image, unsigned num_options, int* options,
                                        void** values) {
  XC_EMULATED(cuModuleLoadDataEx, kContext);
  std::string log;
  CUresult result;
  auto made = std::make_unique<CUmod_st>();
  made->context = emulator::CurrentContext();
  const char* text = static_cast<const char*>(image);
  const bool is_binary = std::memcmp(text,
                                     "\x7f"
                                     "ELF",
                                     4) == 0 ||
                         std::memcmp(text, "\x50\xed\x55\xba", 4) == 0;
  if (is_binary) {
    log = "the emulator runs PTX, not machine code";
    result = CUDA_ERROR_NO_BINARY_FOR_GPU;
  } else {
    result = Load(text, made.get(), &log);
  }
  void* buffer = nullptr;
  size_t size = 0;
  for (unsigned n = 0; n < num_options; ++n) {
    if (options[n] == CU_JIT_ERROR_LOG_BUFFER) buffer = values[n];
    if (options[n] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES) size = reinterpret_cast<uintptr_t>(values[n]);
  }
  if (buffer != nullptr && size > 0) {
    const size_t n = std::min(log.size(), size - 1);
    std::memcpy(buffer, log.data(), n);
    static_cast<char*>(buffer)[n] = 0;
  }
  if (result != CUDA_SUCCESS) {
    for (const auto& [name, global] : made->globals) made->context->memory.Free(global.address);
    return result;
  }
  *module = made.release();
  (*module)->context->modules.insert(*module);
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuModuleUnload(CUmodule module) {
  XC_EMULATED(cuModuleUnload, kContext);
  CUctx_st* context = emulator::CurrentContext();
  if (context->modules.erase(module) == 0) return CUDA_ERROR_INVALID_HANDLE;
  // Kernels of it that were launched still run.
  for (CUstream_st* stream : context->streams) stream->queue->RunAll();
  context->default_stream.queue->RunAll();
  for (const auto& [name, global] : module->globals) context->memory.Free(global.address);
  delete module;
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuModuleGetFunction(CUfunction* function, CUmodule module, const char* name) {
  XC_EMULATED(cuModuleGetFunction, kContext);
  const auto found = module->functions.find(name);
  if (found == module->functions.end()) return CUDA_ERROR_NOT_FOUND;
  *function = found->second.get();
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuModuleGetGlobal_v2(CUdeviceptr* address, size_t* bytes, CUmodule module, const char* name) {
  XC_EMULATED(cuModuleGetGlobal_v2, kContext);
  const auto found = module->globals.find(name);
  if (found == module->globals.end()) return CUDA_ERROR_NOT_FOUND;
  if (address != nullptr) *address = found->second.address;
  if (bytes != nullptr) *bytes = static_cast<size_t>(found->second.bytes);
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuFuncGetAttribute(int* value, int attribute, CUfunction function) {
  XC_EMULATED(cuFuncGetAttribute, kContext);
  const emulator::Kernel& kernel = *function->kernel;
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = kernel.max_threads;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
      *value = static_cast<int>(kernel.shared_bytes);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
      *value = 0;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
      *value = static_cast<int>(kernel.code[0]->local_bytes);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:  // of the PTX, before they are allocated
      *value = std::min(kernel.num_registers, 255);
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      *value = emulator::State().options.arch;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      *value = static_cast<int>(function->dynamic_shared_limit);
      return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_VALUE;
}

XC_EXPORTED CUresult cuFuncSetAttribute(CUfunction function, int attribute, int value) {
  XC_EMULATED(cuFuncSetAttribute, kContext);
  if (attribute == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) {
    if (value < 0 || value + function->kernel->shared_bytes > MostShared()) return CUDA_ERROR_INVALID_VALUE;
    function->dynamic_shared_limit = value;
  }
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CUfunction function, int threads,
                                                                 size_t dynamic_bytes) {
  XC_EMULATED(cuOccupancyMaxActiveBlocksPerMultiprocessor, kContext);
  if (threads < 1 || threads > 1024) return CUDA_ERROR_INVALID_VALUE;
  const int64_t shared = function->kernel->shared_bytes + static_cast<int64_t>(dynamic_bytes) + 1024;
  *blocks = static_cast<int>(std::min<int64_t>({32, 2048 / ((threads + 31) / 32 * 32), 233472 / shared}));
  return CUDA_SUCCESS;
}

XC_EXPORTED CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                                    unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared_bytes,
                                    CUstream stream, void** parameters, void** extra) {
  XC_EMULATED(cuLaunchKernel, kContext);
  const unsigned grid[3] = {grid_x, grid_y, grid_z}, block[3] = {block_x, block_y, block_z};
  return LaunchOn(function, grid, block, shared_bytes, stream, parameters, extra);
}

XC_EXPORTED CUresult cuLaunchKernelEx(const CUlaunchConfig* config, CUfunction function, void** parameters,
                                      void** extra) {
  XC_EMULATED(cuLaunchKernelEx, kContext);
  const unsigned grid[3] = {config->gridDimX, config->gridDimY, config->gridDimZ};
  const unsigned block[3] = {config->blockDimX, config->blockDimY, config->blockDimZ};
  constexpr int kClusterDimension = 4;
  for (unsigned n = 0; n < config->numAttrs; ++n) {
    if (config->attrs[n].id == kClusterDimension) return CUDA_ERROR_NOT_SUPPORTED;
  }
  return LaunchOn(function, grid, block, config->sharedMemBytes, config->hStream, parameters, extra);
}

}  // namespace xc::cuda
