// What tests of the StableHLO reader share: StableHLO in, HLO out, side by side.
#ifndef XC_IMPORTERS_STABLEHLO_TEST_SUPPORT_H_
#define XC_IMPORTERS_STABLEHLO_TEST_SUPPORT_H_

#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "hlo/analysis/equality.h"
#include "hlo/text/parser.h"
#include "hlo/text/printer.h"
#include "hlo/verifier/verifier.h"
#include "importers/stablehlo/stablehlo.h"

namespace xc {

// Options that give arguments whose types leave sizes open these shapes, "f32[3,4]".
inline ParseOptions WithShapes(const std::vector<std::string>& shapes) {
  ParseOptions options;
  options.argument_shape = [shapes](int64_t argument, const Shape&) { return ParseShape(shapes.at(argument)); };
  return options;
}

// The StableHLO module becomes the HLO module, names and what the HloModule line says apart.
inline void ExpectHlo(absl::string_view stablehlo, absl::string_view hlo, const ParseOptions& options = {}) {
  SCOPED_TRACE(std::string(stablehlo));
  auto module = ParseStableHlo(stablehlo, options);
  ASSERT_TRUE(module.ok()) << module.status();
  const absl::Status verified = VerifyModule(**module);
  EXPECT_TRUE(verified.ok()) << verified;
  EXPECT_TRUE(ParseModule(PrintModule(**module)).ok()) << PrintModule(**module);
  auto expected = ParseModule(hlo);
  ASSERT_TRUE(expected.ok()) << expected.status();
  const absl::Status equal = DeepEqual(**module, **expected, {.config = false});
  EXPECT_TRUE(equal.ok()) << equal << "\nread as:\n" << PrintModule(**module);
}

// A function `main` of the parameters whose body is the lines of StableHLO, beside an entry of the lines of HLO.
inline void ExpectOps(const std::string& parameters, const std::string& result, const std::string& stablehlo,
                      const std::string& hlo) {
  ExpectHlo("func.func public @main(" + parameters + ") -> " + result + " {\n" + stablehlo + "\n}\n",
            "HloModule main\nENTRY main {\n" + hlo + "\n}\n");
}

// The module is refused with a message that contains `message`.
inline void ExpectRefused(const std::string& stablehlo, absl::string_view message, const ParseOptions& options = {}) {
  SCOPED_TRACE(stablehlo);
  auto module = ParseStableHlo(stablehlo, options);
  ASSERT_FALSE(module.ok()) << PrintModule(**module);
  EXPECT_EQ(module.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_TRUE(std::string(module.status().message()).find(std::string(message)) != std::string::npos)
      << "message: " << module.status().message() << "\nshould contain: " << message;
}

}  // namespace xc

#endif  // XC_IMPORTERS_STABLEHLO_TEST_SUPPORT_H_
