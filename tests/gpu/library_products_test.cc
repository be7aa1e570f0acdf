// Modules whose large products the mock of cuBLASLt makes, on the emulator and beside the interpreter; who made each
// product is in the executable's text.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "backends/gpu/runtime/driver.h"
#include "service/compare.h"
#include "tests/gpu/testing.h"

namespace xc {
namespace {

std::string MockLibrary() {
  const std::string emulator = gpu::EmulatorLibrary();
  return emulator.substr(0, emulator.rfind("/emulator/")) + "/libraries/libmock_cublaslt.so";
}

class LibraryProductsTest : public testing::Test {
 protected:
  void SetUp() override { setenv("XC_GPU_CUBLASLT", MockLibrary().c_str(), 1); }
  void TearDown() override {
    for (const char* name : {"XC_GPU_CUBLASLT", "XC_MOCK_CUBLASLT_FAIL", "XC_MOCK_CUBLASLT_ALGORITHMS"}) unsetenv(name);
  }

  // The interpreter's results, with so many products by the library, and the report with `report` in it.
  void Expect(const std::string& text, int64_t products, const std::string& report = "", bool libraries = true) {
    const std::unique_ptr<Executable> executable = CompileText("gpu", text, libraries);
    EXPECT_EQ(executable->device_starts()->library_products, products) << executable->Text("products");
    EXPECT_NE(executable->Text("products").find(report), std::string::npos) << executable->Text("products");
    EXPECT_TRUE(executable->evaluated().empty()) << executable->Text("evaluated");
    ExpectRight(*executable, text);
  }
};

std::string Dot(const std::string& type, const std::string& result_type, const std::string& lhs, const std::string& rhs,
                const std::string& result, const std::string& dimensions) {
  return absl::StrCat("HloModule m\nENTRY e { x = ", type, "[", lhs, "] parameter(0) y = ", type, "[", rhs,
                      "] parameter(1) ROOT d = ", result_type, "[", result, "] dot(x, y), ", dimensions, " }");
}

TEST_F(LibraryProductsTest, EachTypeInEachOrder) {
  struct Case {
    const char *lhs, *rhs, *dimensions;
  };
  const Case cases[] = {
      {"208,304", "304,272", "lhs_contracting_dims={1}, rhs_contracting_dims={0}"},
      {"208,304", "272,304", "lhs_contracting_dims={1}, rhs_contracting_dims={1}"},
      {"304,208", "304,272", "lhs_contracting_dims={0}, rhs_contracting_dims={0}"},
      {"304,208", "272,304", "lhs_contracting_dims={0}, rhs_contracting_dims={1}"},
  };
  for (const char* types : {"f32 f32", "f64 f64", "bf16 bf16", "bf16 f32", "f16 f16", "f16 f32"}) {
    const std::vector<std::string> type = absl::StrSplit(types, ' ');
    for (const Case& c : cases) {
      Expect(Dot(type[0], type[1], c.lhs, c.rhs, "208,272", c.dimensions), 1,
             ": cuBLASLt 13.1.0, algorithm 7, 8192 bytes of workspace");
    }
  }
}

TEST_F(LibraryProductsTest, Batches) {
  Expect(Dot("f32", "f32", "5,160,176", "5,176,144", "5,160,144",
             "lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}"),
         1);
  // The batch is the innermost dimension of neither, and the factors of one have it in the middle.
  Expect(Dot("bf16", "bf16", "160,5,176", "5,144,176", "5,160,144",
             "lhs_batch_dims={1}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={2}"),
         1);
  // Two that no one stride walks.
  Expect(Dot("f32", "f32", "2,160,3,176", "2,176,3,144", "2,3,160,144",
             "lhs_batch_dims={0,2}, rhs_batch_dims={0,2}, lhs_contracting_dims={3}, rhs_contracting_dims={1}"),
         0, "dot d: generated kernel: several batch dimensions");
}

TEST_F(LibraryProductsTest, KernelsFollow) {
  Expect(R"(HloModule m
ENTRY e { x = f32[256,304] parameter(0) w = f32[304,272] parameter(1) b = f32[272] parameter(2)
  d = f32[256,272] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  c = f32[256,272] broadcast(b), dimensions={1} s = f32[256,272] add(d, c) z = f32[] constant(0)
  y = f32[256,272] broadcast(z), dimensions={} ROOT r = f32[256,272] maximum(s, y) })",
         1);
  // Two layers; the product is a result, too; a loop that runs a product.
  Expect(R"(HloModule m
ENTRY e { x = bf16[256,272] parameter(0) w = bf16[272,272] parameter(1)
  d = bf16[256,272] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0} t = bf16[256,272] tanh(d)
  f = bf16[256,272] dot(t, w), lhs_contracting_dims={1}, rhs_contracting_dims={0} u = bf16[256,272] negate(f)
  ROOT r = (bf16[256,272], bf16[256,272]) tuple(u, f) })",
         2);
  Expect(R"(HloModule m
more { s = (s32[], f32[256,256]) parameter(0) i = s32[] get-tuple-element(s), index=0 n = s32[] constant(3)
  ROOT c = pred[] compare(i, n), direction=LT }
body { s = (s32[], f32[256,256]) parameter(0) i = s32[] get-tuple-element(s), index=0 one = s32[] constant(1)
  j = s32[] add(i, one) x = f32[256,256] get-tuple-element(s), index=1
  d = f32[256,256] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0} f = f32[] constant(0.01)
  b = f32[256,256] broadcast(f), dimensions={} y = f32[256,256] multiply(d, b)
  ROOT r = (s32[], f32[256,256]) tuple(j, y) }
ENTRY e { x = f32[256,256] parameter(0) i = s32[] constant(0) s = (s32[], f32[256,256]) tuple(i, x)
  ROOT w = (s32[], f32[256,256]) while(s), condition=more, body=body })",
         1);
}

const char kProduct[] = R"(HloModule m
ENTRY e { x = f32[256,256] parameter(0) y = f32[256,256] parameter(1)
  ROOT d = f32[256,256] dot(x, y), lhs_contracting_dims={1}, rhs_contracting_dims={0} })";

TEST_F(LibraryProductsTest, KernelsStandIn) {
  Expect(kProduct, 1);
  Expect(kProduct, 0, "generated kernel: the option gpu_libraries is off", /*libraries=*/false);
  setenv("XC_MOCK_CUBLASLT_ALGORITHMS", "0", 1);
  Expect(kProduct, 0, "generated kernel: cuBLASLt 13.1.0: choosing an algorithm");
  unsetenv("XC_MOCK_CUBLASLT_ALGORITHMS");
  setenv("XC_MOCK_CUBLASLT_FAIL", "cublasLtCreate:1:1", 1);
  Expect(kProduct, 0, "generated kernel: cuBLASLt 13.1.0: making a handle");
  setenv("XC_GPU_CUBLASLT", "/nowhere/libcublasLt.so.13", 1);
  Expect(kProduct, 0, "generated kernel: no cuBLASLt: /nowhere/libcublasLt.so.13");
  unsetenv("XC_GPU_CUBLASLT");
  Expect(kProduct, 0, "on the emulator only what XC_GPU_CUBLASLT names");
}

TEST_F(LibraryProductsTest, TheSameBitsInEachRun) {
  const std::unique_ptr<Executable> executable = CompileText("gpu", kProduct);
  const auto first = RunOnInputs(*executable), second = RunOnInputs(*executable),
             other = RunOnInputs(*CompileText("gpu", kProduct));
  ASSERT_TRUE(first.ok() && second.ok() && other.ok());
  EXPECT_EQ(CompareExact((*first)[0], (*second)[0]), "");
  EXPECT_EQ(CompareExact((*first)[0], (*other)[0]), "");
}

TEST_F(LibraryProductsTest, InGraphs) {
  const std::unique_ptr<Executable> executable = CompileText("gpu", R"(HloModule m
ENTRY e { x = f32[256,256] parameter(0) d = f32[256,256] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[256,256] tanh(d) ROOT r = f32[256,256] dot(t, x), lhs_contracting_dims={1}, rhs_contracting_dims={0} })");
  const auto first = RunOnInputs(*executable);
  for (int n = 0; n < 3; ++n) {
    const auto later = RunOnInputs(*executable);
    ASSERT_TRUE(first.ok() && later.ok());
    EXPECT_EQ(CompareExact((*first)[0], (*later)[0]), "");
  }
  EXPECT_EQ(executable->Text("runs").rfind("3 runs as a graph of 3 nodes", 0), 0u) << executable->Text("runs");
}

TEST_F(LibraryProductsTest, FaultsOfARun) {
  setenv("XC_MOCK_CUBLASLT_FAIL", "cublasLtMatmul:1:13", 1);
  const std::unique_ptr<Executable> executable = CompileText("gpu", kProduct);
  const auto failed = RunOnInputs(*executable);
  EXPECT_EQ(failed.status().code(), absl::StatusCode::kInternal);
  EXPECT_NE(std::string(failed.status().message()).find("d: cuBLASLt 13.1.0: starting a product: "), std::string::npos)
      << failed.status();
  EXPECT_TRUE(RunOnInputs(*executable).ok());
}

}  // namespace
}  // namespace xc
