// For tests: a library with cuBLASLt's functions that computes on the emulator's memory. It checks what it is given
// more strictly than NVIDIA's: sizes of attributes, types, dimensions, alignment, workspace, and that all memory lies
// in allocations of the device. Two variables of the environment, read by cublasLtCreate, ask for faults:
// XC_MOCK_CUBLASLT_FAIL=FUNCTION:N:STATUS gives the Nth call from then on this status, once;
// XC_MOCK_CUBLASLT_ALGORITHMS=0 finds no algorithm.
#include <dlfcn.h>
#include <link.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <mutex>
#include <optional>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "backends/gpu/libraries/cublaslt.h"
#include "backends/gpu/libraries/mock_product.h"

#define MOCK_EXPORTED extern "C" __attribute__((visibility("default")))

namespace xc::cublaslt {

struct HandleOpaque {};
struct MatmulDescOpaque {
  int compute_type, scale_type;
  int32_t transpose_a = CUBLAS_OP_N, transpose_b = CUBLAS_OP_N;
};
struct MatrixLayoutOpaque {
  mock::Matrix matrix;
};
struct MatmulPreferenceOpaque {
  uint64_t most_workspace = 0;
  uint32_t reductions = 7;
  uint32_t alignment[4] = {256, 256, 256, 256};
};

namespace {

// The algorithm that is proposed, as it lies in cublasLtMatmulAlgo_t: good for one product.
struct Algorithm {
  uint64_t magic;
  uint64_t product;  // its fingerprint
  uint64_t workspace;
  uint32_t alignment[4];
};
constexpr uint64_t kMagic = 0x6D6F636B6C740001;
constexpr int32_t kAlgorithmId = 7;
// Asked for where it may be.
constexpr uint64_t kWorkspace = 8192;
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));

// What has been asked for, and products that streams have been given: a captured one may be started again at any time.
struct State {
  std::mutex mu;
  std::string failing;
  int64_t failing_call = 0;
  int failing_status = 0;
  bool has_algorithms = true;
  std::deque<mock::Product> products;
};
State& TheState() {
  static auto* state = new State();
  return *state;
}

void ReadEnvironment() {
  State& state = TheState();
  std::lock_guard<std::mutex> lock(state.mu);
  const char* algorithms = std::getenv("XC_MOCK_CUBLASLT_ALGORITHMS");
  state.has_algorithms = algorithms == nullptr || std::string(algorithms) != "0";
  state.failing.clear();
  const char* text = std::getenv("XC_MOCK_CUBLASLT_FAIL");
  if (text == nullptr) return;
  const std::vector<std::string> fields = absl::StrSplit(text, ':');
  if (fields.size() == 3 && absl::SimpleAtoi(fields[1], &state.failing_call) &&
      absl::SimpleAtoi(fields[2], &state.failing_status)) {
    state.failing = fields[0];
  }
}

// The status that this call was asked to end with.
int Planted(const char* function) {
  State& state = TheState();
  std::lock_guard<std::mutex> lock(state.mu);
  return state.failing == function && --state.failing_call == 0 ? state.failing_status : CUBLAS_STATUS_SUCCESS;
}

// The emulator, which the process has opened as its driver.
struct Emulator {
  int (*launch_host_function)(cudaStream_t, cuda::CUhostFn, void*) = nullptr;
  uint64_t (*bytes_from)(uint64_t) = nullptr;
};
const Emulator& TheEmulator() {
  static const Emulator emulator = [] {
    std::string path;
    dl_iterate_phdr(
        [](dl_phdr_info* info, size_t, void* found) {
          const std::string name = info->dlpi_name;
          if (name.find("libxc_gpu_emulator.so") == std::string::npos) return 0;
          *static_cast<std::string*>(found) = name;
          return 1;
        },
        &path);
    Emulator found;
    void* library = path.empty() ? nullptr : dlopen(path.c_str(), RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) return found;
    *reinterpret_cast<void**>(&found.launch_host_function) = dlsym(library, "cuLaunchHostFunc");
    *reinterpret_cast<void**>(&found.bytes_from) = dlsym(library, "xcEmulatorBytesFrom");
    return found;
  }();
  return emulator;
}

// Takes a value whose attribute has the type of `to`.
template <typename T>
int Take(const void* value, size_t bytes, T* to) {
  if (value == nullptr || bytes != sizeof(T)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(to, value, bytes);
  return CUBLAS_STATUS_SUCCESS;
}

// The product that the descriptors are, without addresses. Nothing: they do not fit together.
std::optional<mock::Product> ProductOf(cublasLtMatmulDesc_t desc, cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                       cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d) {
  if (desc == nullptr || a == nullptr || b == nullptr || c == nullptr || d == nullptr) return std::nullopt;
  if (!(c->matrix == d->matrix)) return std::nullopt;
  mock::Product product;
  product.compute_type = desc->compute_type;
  product.scale_type = desc->scale_type;
  product.transpose_a = desc->transpose_a == CUBLAS_OP_T;
  product.transpose_b = desc->transpose_b == CUBLAS_OP_T;
  product.a = a->matrix;
  product.b = b->matrix;
  product.d = d->matrix;
  if (!product.IsValid()) return std::nullopt;
  return product;
}

bool IsMultiple(const void* address, uint32_t of) { return reinterpret_cast<uintptr_t>(address) % of == 0; }

// Whether `bytes` from `address` on lie in an allocation.
bool OnDevice(const void* address, int64_t bytes) {
  return TheEmulator().bytes_from(reinterpret_cast<uint64_t>(address)) >= static_cast<uint64_t>(bytes);
}

}  // namespace

// Says that this is no library for devices.
MOCK_EXPORTED void xcMockCublasLt() {}

MOCK_EXPORTED size_t cublasLtGetVersion() { return 130100; }

MOCK_EXPORTED const char* cublasLtGetStatusString(int status) {
  return status == CUBLAS_STATUS_INVALID_VALUE ? "the mock found an invalid value" : "the mock was asked to fail";
}

MOCK_EXPORTED int cublasLtCreate(cublasLtHandle_t* handle) {
  ReadEnvironment();
  if (const int status = Planted("cublasLtCreate")) return status;
  if (TheEmulator().bytes_from == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = new HandleOpaque();
  return CUBLAS_STATUS_SUCCESS;
}

MOCK_EXPORTED int cublasLtDestroy(cublasLtHandle_t handle) {
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}

MOCK_EXPORTED int cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* desc, int compute_type, int scale_type) {
  if (const int status = Planted("cublasLtMatmulDescCreate")) return status;
  *desc = new MatmulDescOpaque{compute_type, scale_type};
  return CUBLAS_STATUS_SUCCESS;
}

MOCK_EXPORTED int cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t desc) {
  delete desc;
  return CUBLAS_STATUS_SUCCESS;
}

MOCK_EXPORTED int cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t desc, int attribute, const void* value,
                                                 size_t bytes) {
  if (const int status = Planted("cublasLtMatmulDescSetAttribute")) return status;
  if (attribute == CUBLASLT_MATMUL_DESC_TRANSA) return Take(value, bytes, &desc->transpose_a);
  if (attribute == CUBLASLT_MATMUL_DESC_TRANSB) return Take(value, bytes, &desc->transpose_b);
  return CUBLAS_STATUS_INVALID_VALUE;
}

MOCK_EXPORTED int cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, int type, uint64_t rows, uint64_t columns,
                                             int64_t leading_dimension) {
  if (const int status = Planted("cublasLtMatrixLayoutCreate")) return status;
  mock::Matrix matrix;
  matrix.type = type;
  matrix.rows = static_cast<int64_t>(rows);
  matrix.columns = static_cast<int64_t>(columns);
  matrix.leading_dimension = leading_dimension;
  *layout = new MatrixLayoutOpaque{matrix};
  return CUBLAS_STATUS_SUCCESS;
}

MOCK_EXPORTED int cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  delete layout;
  return CUBLAS_STATUS_SUCCESS;
}

MOCK_EXPORTED int cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout, int attribute, const void* value,
                                                   size_t bytes) {
  if (const int status = Planted("cublasLtMatrixLayoutSetAttribute")) return status;
  mock::Matrix& matrix = layout->matrix;
  if (attribute == CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT) return Take(value, bytes, &matrix.batches);
  if (attribute == CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET) return Take(value, bytes, &matrix.batch_stride);
  return CUBLAS_STATUS_INVALID_VALUE;
}

MOCK_EXPORTED int cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  if (const int status = Planted("cublasLtMatmulPreferenceCreate")) return status;
  *preference = new MatmulPreferenceOpaque();
  return CUBLAS_STATUS_SUCCESS;
}

MOCK_EXPORTED int cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  delete preference;
  return CUBLAS_STATUS_SUCCESS;
}

MOCK_EXPORTED int cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference, int attribute,
                                                       const void* value, size_t bytes) {
  if (const int status = Planted("cublasLtMatmulPreferenceSetAttribute")) return status;
  switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      return Take(value, bytes, &preference->most_workspace);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
      return Take(value, bytes, &preference->reductions);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
      return Take(value, bytes, &preference->alignment[attribute - CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES]);
    default:
      return CUBLAS_STATUS_INVALID_VALUE;
  }
}

MOCK_EXPORTED int cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc,
                                                 cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                                 cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                                 cublasLtMatmulPreference_t preference, int requested,
                                                 cublasLtMatmulHeuristicResult_t* results, int* found) {
  if (const int status = Planted("cublasLtMatmulAlgoGetHeuristic")) return status;
  const std::optional<mock::Product> product = ProductOf(desc, a, b, c, d);
  if (handle == nullptr || preference == nullptr || requested < 1 || !product) return CUBLAS_STATUS_INVALID_VALUE;
  // Parts of sums that are rounded to the result's type, or that are added in whatever order they come.
  if ((preference->reductions & ~CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE) != 0) return CUBLAS_STATUS_INVALID_VALUE;
  *found = TheState().has_algorithms ? 1 : 0;
  if (*found == 0) return CUBLAS_STATUS_NOT_SUPPORTED;
  Algorithm algorithm = {kMagic, product->Fingerprint(), preference->most_workspace < kWorkspace ? 0 : kWorkspace, {}};
  std::memcpy(algorithm.alignment, preference->alignment, sizeof(algorithm.alignment));
  results[0] = {};
  std::memcpy(&results[0].algo, &algorithm, sizeof(algorithm));
  results[0].workspaceSize = algorithm.workspace;
  return CUBLAS_STATUS_SUCCESS;
}

MOCK_EXPORTED int cublasLtMatmulAlgoConfigGetAttribute(const cublasLtMatmulAlgo_t* algo, int attribute, void* value,
                                                       size_t bytes, size_t* written) {
  if (attribute != CUBLASLT_ALGO_CONFIG_ID || bytes != sizeof(kAlgorithmId)) return CUBLAS_STATUS_INVALID_VALUE;
  std::memcpy(value, &kAlgorithmId, bytes);
  *written = bytes;
  return CUBLAS_STATUS_SUCCESS;
}

MOCK_EXPORTED int cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t desc, const void* alpha, const void* a,
                                 cublasLtMatrixLayout_t a_layout, const void* b, cublasLtMatrixLayout_t b_layout,
                                 const void* beta, const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                                 cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algo, void* workspace,
                                 size_t workspace_bytes, cudaStream_t stream) {
  if (const int status = Planted("cublasLtMatmul")) return status;
  std::optional<mock::Product> product = ProductOf(desc, a_layout, b_layout, c_layout, d_layout);
  if (handle == nullptr || algo == nullptr || !product || c != d) return CUBLAS_STATUS_INVALID_VALUE;
  Algorithm algorithm;
  std::memcpy(&algorithm, algo, sizeof(algorithm));
  if (algorithm.magic != kMagic || algorithm.product != product->Fingerprint()) return CUBLAS_STATUS_INVALID_VALUE;
  if (!IsMultiple(a, algorithm.alignment[0]) || !IsMultiple(b, algorithm.alignment[1]) ||
      !IsMultiple(d, algorithm.alignment[3])) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  if (workspace_bytes < algorithm.workspace || !IsMultiple(workspace, 256) ||
      !OnDevice(workspace, static_cast<int64_t>(workspace_bytes)) || !OnDevice(a, product->a.ExtentBytes()) ||
      !OnDevice(b, product->b.ExtentBytes()) || !OnDevice(d, product->d.ExtentBytes())) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  product->memory_a = static_cast<const char*>(a);
  product->memory_b = static_cast<const char*>(b);
  product->memory_d = static_cast<char*>(d);
  product->workspace = static_cast<char*>(workspace);
  product->workspace_bytes = static_cast<int64_t>(workspace_bytes);
  if (!product->SetScales(alpha, beta) || product->MemoryOverlaps()) return CUBLAS_STATUS_INVALID_VALUE;
  State& state = TheState();
  std::lock_guard<std::mutex> lock(state.mu);
  state.products.push_back(*product);
  const int launched = TheEmulator().launch_host_function(
      stream, [](void* data) { static_cast<mock::Product*>(data)->Compute(); }, &state.products.back());
  return launched == cuda::CUDA_SUCCESS ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

}  // namespace xc::cublaslt
