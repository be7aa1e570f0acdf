// HLO text in, literal out: what the interpreter's op tests share.
#ifndef XC_BACKENDS_INTERPRETER_OP_TEST_UTIL_H_
#define XC_BACKENDS_INTERPRETER_OP_TEST_UTIL_H_

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/interpreter/evaluator.h"
#include "hlo/text/parser.h"
#include "hlo/verifier/verifier.h"

namespace xc::interp {

// The module of `computations` (called ones, may be empty) and an entry without parameters made of `body`.
inline std::string ModuleText(const std::string& body, const std::string& computations = "") {
  return absl::StrCat("HloModule m\n", computations, "\nENTRY main {\n", body, "\n}\n");
}

inline absl::StatusOr<Literal> Run(const std::string& text) {
  auto module = ParseModule(text);
  if (!module.ok()) return module.status();
  if (absl::Status status = VerifyModule(**module); !status.ok()) return status;
  return Evaluator().Evaluate(**module, {});
}

// Elements as text: of one array, or of each part of a tuple.
struct Expected {
  Expected(const char* text) : parts{text} {}                                                // NOLINT
  Expected(const std::string& text) : parts{text} {}                                         // NOLINT
  Expected(std::initializer_list<const char*> texts) : parts(texts.begin(), texts.end()) {}  // NOLINT
  std::vector<std::string> parts;
};

// Expects the root's value to be `expected`, written as HLO text writes the elements of a literal, bit for bit; of a
// tuple, element i is compared with expected[i].
inline void Expect(const std::string& body, const Expected& wanted, const std::string& computations = "") {
  const std::vector<std::string>& expected = wanted.parts;
  SCOPED_TRACE(body);
  auto result = Run(ModuleText(body, computations));
  ASSERT_TRUE(result.ok()) << result.status();
  const size_t parts = result->IsTuple() ? result->tuple().size() : 1;
  ASSERT_EQ(parts, expected.size());
  for (size_t i = 0; i < parts; ++i) {
    const Literal& actual = result->IsTuple() ? result->tuple()[i] : *result;
    auto want = ParseLiteral(actual.shape(), expected[i]);
    ASSERT_TRUE(want.ok()) << want.status();
    std::string values;
    for (int64_t e = 0; e < actual.size(); ++e) {
      const auto value = actual.GetComplex(e);
      absl::StrAppend(&values, " ", value.real());
      if (value.imag() != 0) absl::StrAppend(&values, "+", value.imag(), "i");
    }
    EXPECT_TRUE(actual.BitEqual(*want)) << "part " << i << " is" << values << ", expected " << expected[i];
  }
}

// Expects evaluation to fail with a message that contains `message`.
inline void ExpectError(const std::string& body, const std::string& message, const std::string& computations = "") {
  SCOPED_TRACE(body);
  auto result = Run(ModuleText(body, computations));
  ASSERT_FALSE(result.ok());
  EXPECT_NE(std::string(result.status().message()).find(message), std::string::npos) << result.status();
}

}  // namespace xc::interp

#endif  // XC_BACKENDS_INTERPRETER_OP_TEST_UTIL_H_
