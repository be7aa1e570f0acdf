#include "backends/gpu/emulator/testing.h"

namespace xc::emulator {

using namespace cuda;  // NOLINT: the driver's names

namespace {

Outcome Ended(int error) {
  const char* text = "";
  if (error != CUDA_SUCCESS) cuGetErrorString(error, &text);
  return {error, text ? text : ""};
}

}  // namespace

Outcome RunPtx(const std::string& ptx, const std::string& kernel, Dims grid, Dims block,
               const std::vector<std::vector<uint8_t>*>& buffers, const std::vector<uint32_t>& scalars,
               unsigned shared_bytes) {
  CUdevice device = 0;
  CUcontext context = nullptr;
  if (const int error = cuInit(0)) return Ended(error);
  if (const int error = cuDeviceGet(&device, 0)) return Ended(error);
  if (const int error = cuDevicePrimaryCtxRetain(&context, device)) return Ended(error);
  cuCtxSetCurrent(context);
  const auto leave = [&](int error, const std::string& log = "") {
    Outcome outcome = Ended(error);
    if (!log.empty()) outcome.text = log;
    cuDevicePrimaryCtxReset_v2(device);
    cuDevicePrimaryCtxRelease_v2(device);
    return outcome;
  };
  std::string log(4096, '\0');
  int options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void* values[] = {log.data(), reinterpret_cast<void*>(log.size())};
  CUmodule module;
  if (const int error = cuModuleLoadDataEx(&module, ptx.c_str(), 2, options, values)) return leave(error, log.c_str());
  CUfunction function;
  if (const int error = cuModuleGetFunction(&function, module, kernel.c_str())) return leave(error);
  if (shared_bytes > 0) {
    const int error =
        cuFuncSetAttribute(function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, static_cast<int>(shared_bytes));
    if (error) return leave(error);
  }
  std::vector<CUdeviceptr> addresses(buffers.size());
  std::vector<void*> parameters;
  for (size_t n = 0; n < buffers.size(); ++n) {
    if (const int error = cuMemAlloc_v2(&addresses[n], buffers[n]->size())) return leave(error);
    if (const int error = cuMemcpyHtoD_v2(addresses[n], buffers[n]->data(), buffers[n]->size())) return leave(error);
    parameters.push_back(&addresses[n]);
  }
  for (const uint32_t& scalar : scalars) parameters.push_back(const_cast<uint32_t*>(&scalar));
  if (const int error = cuLaunchKernel(function, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared_bytes,
                                       nullptr, parameters.data(), nullptr)) {
    return leave(error);
  }
  if (const int error = cuCtxSynchronize()) return leave(error);
  for (size_t n = 0; n < buffers.size(); ++n) {
    if (const int error = cuMemcpyDtoH_v2(buffers[n]->data(), addresses[n], buffers[n]->size())) return leave(error);
  }
  return leave(CUDA_SUCCESS);
}

std::string Kernel(const std::string& body, const std::string& declarations) {
  return R"(.version 8.3
.target sm_80
.address_size 64
)" + declarations +
         R"(
.visible .entry k(.param .u64 k_param_0)
{
  .reg .pred %p<40>;
  .reg .b16 %h<40>;
  .reg .b32 %r<40>;
  .reg .b64 %d<40>;
  .reg .f32 %f<40>;
  .reg .f64 %g<40>;
  .reg .b64 %out;
  ld.param.u64 %out, [k_param_0];
  mov.u32 %r0, %tid.x;
  mul.wide.u32 %d0, %r0, 4;
  add.s64 %d1, %out, %d0;
)" + body +
         "\n  ret;\n}\n";
}

}  // namespace xc::emulator
