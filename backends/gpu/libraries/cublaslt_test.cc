// The library and products of it, on the mock and the emulator: what works, and each fault as a status that names it.
#include <gtest/gtest.h>

#include <bit>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "backends/gpu/libraries/cublaslt_library.h"
#include "backends/gpu/libraries/product.h"
#include "backends/gpu/runtime/device.h"
#include "backends/gpu/runtime/fault_testing.h"
#include "backends/gpu/runtime/stream.h"
#include "backends/runtime/testing/dense_product.h"

namespace xc::gpu {
namespace {

std::string Beside(const std::string& name) { return BuiltLibrary("libraries", name); }

TEST(CublasLtTest, NoLibrary) {
  ExpectStatus(OpenCublasLt("/nowhere/libcublasLt.so.13", false).status(), absl::StatusCode::kUnavailable,
               "no cuBLASLt: /nowhere/libcublasLt.so.13: cannot open");
}

TEST(CublasLtTest, NotTheLibrary) {
  ExpectStatus(OpenCublasLt("libm.so.6", false).status(), absl::StatusCode::kUnavailable, "is no cuBLASLt");
}

TEST(CublasLtTest, OtherVersions) {
  ExpectStatus(OpenCublasLt(Beside("libold_cublaslt.so"), false).status(), absl::StatusCode::kUnavailable,
               "is cuBLASLt 11.8.0; known are the versions 12 to 13");
  ExpectStatus(OpenCublasLt(Beside("libnew_cublaslt.so"), false).status(), absl::StatusCode::kUnavailable,
               "is cuBLASLt 14.0.0;");
}

TEST(CublasLtTest, AFunctionIsMissing) {
  ExpectStatus(OpenCublasLt(Beside("libpartial_cublaslt.so"), false).status(), absl::StatusCode::kUnavailable,
               "(cuBLASLt 12.4.0) lacks the function cublasLtGetStatusString");
}

TEST(CublasLtTest, TheMockIsForTheEmulator) {
  EXPECT_EQ(OpenCublasLt(Beside("libmock_cublaslt.so"), true).value()->Name(), "cuBLASLt 13.1.0");
  ExpectStatus(OpenCublasLt(Beside("libmock_cublaslt.so"), false).status(), absl::StatusCode::kUnavailable,
               "is a mock for the emulator");
}

// NVIDIA's own, where it is installed: it needs a driver for all but this.
TEST(CublasLtTest, TheLibraryIsNotForTheEmulator) {
  const std::string library = "/usr/local/cuda/lib/libcublasLt.so.13";
  const auto opened = OpenCublasLt(library, false);
  if (!opened.ok()) GTEST_SKIP() << opened.status();
  EXPECT_EQ((*opened)->version / 10000, 13);
  ExpectStatus(OpenCublasLt(library, true).status(), absl::StatusCode::kUnavailable, "does not work on the emulator");
}

TEST(CublasLtTest, TheEmulatorHasNoneByItself) {
  unsetenv("XC_GPU_CUBLASLT");
  ExpectStatus(FindCublasLt(true).status(), absl::StatusCode::kUnavailable, "only what XC_GPU_CUBLASLT names");
}

class ProductTest : public testing::Test {
 protected:
  static constexpr int64_t kM = 256, kN = 272, kK = 288;

  void SetUp() override {
    setenv("XC_GPU_CUBLASLT", Beside("libmock_cublaslt.so").c_str(), 1);
    device_ = Device::Open(0, true).value();
    stream_ = Stream::Make(device_).value();
    a_ = DeviceBuffer::Allocate(stream_, 4 * kM * kK).value();
    b_ = DeviceBuffer::Allocate(stream_, 4 * kK * kN).value();
    c_ = DeviceBuffer::Allocate(stream_, 4 * kM * kN).value();
    workspace_ = DeviceBuffer::Allocate(stream_, kMostWorkspaceBytes).value();
    ASSERT_TRUE(stream_->Fill32(a_.pointer(), std::bit_cast<uint32_t>(1.0f), kM * kK).ok());
    ASSERT_TRUE(stream_->Fill32(b_.pointer(), std::bit_cast<uint32_t>(2.0f), kK * kN).ok());
  }
  void TearDown() override {
    for (const char* name : {"XC_GPU_CUBLASLT", "XC_MOCK_CUBLASLT_FAIL", "XC_MOCK_CUBLASLT_ALGORITHMS"}) unsetenv(name);
  }

  static ProductForm Form() { return ProductFormOf(DenseProduct(RtType::kF32, kM, kN, kK), false).value(); }
  absl::StatusOr<std::unique_ptr<LibraryProduct>> Make(const ProductForm& form = Form(),
                                                       const ProductAlignment& alignment = {}) {
    auto library = ProductLibrary::Open(device_, /*emulate=*/true);
    if (!library.ok()) return library.status();
    return LibraryProduct::Make(*std::move(library), form, alignment);
  }
  absl::Status Start(const LibraryProduct& product) {
    return product.Start(stream_.get(), a_.pointer(), b_.pointer(), c_.pointer(), workspace_.pointer());
  }

  std::shared_ptr<Device> device_;
  std::shared_ptr<Stream> stream_;
  DeviceBuffer a_, b_, c_, workspace_;
};

TEST_F(ProductTest, IsComputedWhenSomebodyWaits) {
  const std::unique_ptr<LibraryProduct> product = Make().value();
  EXPECT_EQ(product->workspace_bytes(), 8192);
  EXPECT_EQ(product->Description(), "cuBLASLt 13.1.0, algorithm 7, 8192 bytes of workspace");
  ASSERT_TRUE(Start(*product).ok());
  std::vector<float> result(kM * kN);
  ASSERT_TRUE(stream_->CopyToHost(result.data(), c_.pointer(), c_.bytes()).ok());
  ASSERT_TRUE(stream_->Synchronize().ok());
  EXPECT_EQ(result, std::vector<float>(kM * kN, 2 * kK));
}

TEST_F(ProductTest, WithoutAnAlgorithm) {
  setenv("XC_MOCK_CUBLASLT_ALGORITHMS", "0", 1);
  ExpectStatus(Make().status(), absl::StatusCode::kUnimplemented, "choosing an algorithm");
}

TEST_F(ProductTest, EachCallCanFail) {
  constexpr struct {
    const char* call;
    const char* text;
  } kCalls[] = {
      {"cublasLtCreate", "making a handle"},
      {"cublasLtMatmulDescCreate", "describing a product"},
      {"cublasLtMatmulDescSetAttribute", "transposing a factor"},
      {"cublasLtMatrixLayoutCreate", "describing a matrix"},
      {"cublasLtMatrixLayoutSetAttribute", "setting a number of batches"},
      {"cublasLtMatmulPreferenceCreate", "making preferences"},
      {"cublasLtMatmulPreferenceSetAttribute", "stating a preference"},
      {"cublasLtMatmulAlgoGetHeuristic", "choosing an algorithm"},
      {"cublasLtMatmul", "starting a product"},
  };
  const auto run = [&]() -> absl::Status {
    auto product = Make();
    if (!product.ok()) return product.status();
    absl::Status status = Start(**product);
    return status.ok() ? stream_->Synchronize() : status;
  };
  for (const auto& [call, text] : kCalls) {
    setenv("XC_MOCK_CUBLASLT_FAIL", (std::string(call) + ":1:14").c_str(), 1);
    ExpectStatus(run(), absl::StatusCode::kInternal, std::string("cuBLASLt 13.1.0: ") + text);
    unsetenv("XC_MOCK_CUBLASLT_FAIL");
    EXPECT_TRUE(run().ok()) << call << ": " << run();
  }
  setenv("XC_MOCK_CUBLASLT_FAIL", "cublasLtCreate:1:3", 1);
  EXPECT_EQ(run().code(), absl::StatusCode::kResourceExhausted);
}

// What does not fit together is refused where it is described.
TEST_F(ProductTest, WrongDescriptors) {
  const auto refused = [&](auto change) {
    ProductForm form = Form();
    change(&form);
    ExpectStatus(Make(form).status(), absl::StatusCode::kInternal, "the mock found an invalid value (status 7)");
  };
  refused([](ProductForm* f) { f->first.rows += 1; });
  refused([](ProductForm* f) { f->second.transposed = true; });
  refused([](ProductForm* f) { f->result.leading_dimension -= 1; });
  refused([](ProductForm* f) { f->result.type = cublaslt::CUDA_R_16F; });
  refused([](ProductForm* f) { f->compute_type = cublaslt::CUBLAS_COMPUTE_32F; });
  refused([](ProductForm* f) { f->scale_type = cublaslt::CUDA_R_64F; });
  // The batches of the result lie on top of each other.
  refused([](ProductForm* f) { f->batches = 2; });
}

// And wrong memory where it is started.
TEST_F(ProductTest, WrongMemory) {
  const std::unique_ptr<LibraryProduct> product = Make().value();
  const uint64_t a = a_.pointer(), b = b_.pointer(), c = c_.pointer(), w = workspace_.pointer();
  const auto refused = [&](const LibraryProduct& of, uint64_t x, uint64_t y, uint64_t result, uint64_t workspace) {
    ExpectStatus(of.Start(stream_.get(), x, y, result, workspace), absl::StatusCode::kInternal,
                 "starting a product: the mock found an invalid value");
  };
  refused(*product, a, b, a, w);         // the result is a factor
  refused(*product, a, b, c, c);         // and the workspace
  refused(*product, a, b, c, 0);         // no workspace
  refused(*product, a, b, c, w + 16);    // not at a multiple of 256
  refused(*product, a + 16, b, c, w);    // likewise a factor, which ends outside, too
  refused(*product, a, b, c + 4096, w);  // a result that ends outside
  const std::unique_ptr<LibraryProduct> anywhere = Make(Form(), {4, 4, 4}).value();
  EXPECT_TRUE(Start(*anywhere).ok());
  refused(*anywhere, a + 4, b, c, w);
  EXPECT_TRUE(stream_->Synchronize().ok());
}

}  // namespace
}  // namespace xc::gpu
