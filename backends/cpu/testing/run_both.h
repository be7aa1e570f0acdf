// For tests: runs HLO text on the CPU backend and on the interpreter with the same made-up inputs, and compares.
#ifndef XC_BACKENDS_CPU_TESTING_RUN_BOTH_H_
#define XC_BACKENDS_CPU_TESTING_RUN_BOTH_H_

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "backends/backend.h"
#include "backends/cpu/backend.h"
#include "hlo/text/parser.h"
#include "hlo/verifier/verifier.h"

namespace xc::cpu {

struct BothOptions {
  bool passes = true;
  bool native = true;           // no instruction may be left to the interpreter
  std::string cpu;              // "" or x86-64-v2 …
  double tolerance = 0;         // relative and absolute; 0: equal bits, but any NaN is a NaN
  int64_t low = -4, high = 12;  // integers are drawn from [low, high)
  std::vector<std::string> infeed;
};

// Input leaf `p`: floats in [-1, 1), integers from the options' range.
inline Literal MadeUp(int64_t p, const Shape& shape, const BothOptions& options) {
  Literal literal{Shape(shape.type(), shape.dims())};
  uint64_t state = 0x9e3779b97f4a7c15 * (p + 1);
  auto next = [&] {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
  };
  for (int64_t i = 0; i < literal.size(); ++i) {
    const double u = static_cast<double>(next() >> 11) * 0x1p-52 - 1;
    if (IsComplex(shape.type())) {
      literal.SetComplex(i, {u, static_cast<double>(next() >> 11) * 0x1p-52 - 1});
    } else if (IsFloating(shape.type())) {
      literal.SetDouble(i, u);
    } else if (shape.type() == ElementType::kPred) {
      literal.SetInt(i, next() >> 63);
    } else {
      literal.SetInt(i, options.low + static_cast<int64_t>(next() % (options.high - options.low)));
    }
  }
  return literal;
}

// The text `name` ("llvm_ir", …: Executable::Text) of the code for x86-64-v4. An error: this machine is none such. HLO
// text that is not valid fails the test.
inline absl::StatusOr<std::string> TextForV4(absl::string_view text, absl::string_view name) {
  absl::StatusOr<std::unique_ptr<HloModule>> module = ParseModule(text);
  EXPECT_TRUE(module.ok()) << module.status();
  if (!module.ok()) return module.status();
  CompileOptions options;
  options.keep_texts = true;
  options.cpu = "x86-64-v4";
  absl::StatusOr<std::unique_ptr<Executable>> executable = CpuBackend()->Compile(*std::move(module), options);
  if (!executable.ok()) return executable.status();
  return (*executable)->Text(name);
}

struct RunResult {
  absl::Status status;
  std::string evaluated;
  std::vector<Literal> leaves;
  std::vector<std::string> outfeed;
};

inline RunResult RunOn(Backend* backend, absl::string_view text, const BothOptions& options) {
  RunResult result;
  auto module = ParseModule(text);
  if (!module.ok()) {
    result.status = module.status();
    return result;
  }
  result.status = VerifyModule(**module);
  if (!result.status.ok()) return result;
  CompileOptions compile;
  compile.cpu = options.cpu;
  compile.compile_threads = 1;
  if (!options.passes) compile.disabled_passes = {"all"};
  auto executable = backend->Compile(*std::move(module), compile);
  if (!executable.ok()) {
    result.status = executable.status();
    return result;
  }
  result.evaluated = (*executable)->Text("evaluated");
  std::vector<Literal> inputs;
  std::vector<const void*> in;
  for (const Shape& shape : (*executable)->parameter_leaves()) {
    inputs.push_back(shape.IsArray() ? MadeUp(inputs.size(), shape, options) : Literal(shape));
  }
  for (const Literal& input : inputs) in.push_back(input.bytes());
  std::vector<void*> out;
  for (const Shape& shape : (*executable)->result_leaves()) {
    result.leaves.push_back(Literal(shape.IsArray() ? Shape(shape.type(), shape.dims()) : shape));
  }
  for (Literal& leaf : result.leaves) out.push_back(leaf.mutable_bytes());
  TransferQueue infeed, outfeed;
  for (const std::string& bytes : options.infeed) infeed.Push(bytes);
  RunOptions run;
  run.executor = DefaultExecutor();
  run.guard_pages = true;
  run.infeed = &infeed;
  run.outfeed = &outfeed;
  result.status = (*executable)->Run(in, out, run);
  std::string bytes;
  while (outfeed.size() > 0 && outfeed.Pop(&bytes).ok()) result.outfeed.push_back(bytes);
  return result;
}

// "" or the first difference.
inline std::string Difference(const Literal& actual, const Literal& expected, double tolerance) {
  if (!expected.shape().IsArray()) return "";
  for (int64_t i = 0; i < expected.size(); ++i) {
    const std::complex<double> a = actual.GetComplex(i), e = expected.GetComplex(i);
    const bool numbers = std::isfinite(e.real()) && std::isfinite(e.imag());
    const int bytes = StorageBytes(expected.shape().type());
    if (std::memcmp(actual.bytes() + i * bytes, expected.bytes() + i * bytes, bytes) == 0) continue;
    if (std::isnan(e.real()) && std::isnan(a.real())) continue;
    if (numbers && std::abs(a - e) <= tolerance * (1 + std::abs(e))) continue;
    return "element " + std::to_string(i) + " is " + std::to_string(a.real()) + ", should be " +
           std::to_string(e.real());
  }
  return "";
}

inline void ExpectSame(absl::string_view text, const BothOptions& options = {}) {
  SCOPED_TRACE(std::string(text.substr(0, 400)));
  RunResult cpu = RunOn(CpuBackend(), text, options);
  RunResult expected = RunOn(InterpreterBackend(), text, options);
  ASSERT_TRUE(expected.status.ok()) << expected.status;
  ASSERT_TRUE(cpu.status.ok()) << cpu.status;
  if (options.native) {
    EXPECT_EQ(cpu.evaluated, "");
  }
  ASSERT_EQ(cpu.leaves.size(), expected.leaves.size());
  for (size_t i = 0; i < cpu.leaves.size(); ++i) {
    EXPECT_EQ(Difference(cpu.leaves[i], expected.leaves[i], options.tolerance), "") << "in result " << i;
  }
  EXPECT_EQ(cpu.outfeed, expected.outfeed);
}

}  // namespace xc::cpu

#endif  // XC_BACKENDS_CPU_TESTING_RUN_BOTH_H_
