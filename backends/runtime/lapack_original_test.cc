// LAPACK calls in their older form give what those of today give; tridiagonal systems that are singular.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <tuple>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/runtime/custom_call_testing.h"

namespace xc {
namespace {

Array S32(int32_t value) {
  Array a(RtType::kS32, {});
  std::memcpy(a.bytes.data(), &value, sizeof(value));
  return a;
}
Array U8(char value) {
  Array a(RtType::kU8, {});
  a.bytes[0] = value;
  return a;
}

absl::Status CallOnce(const std::string& target, const std::string& config, std::vector<Array> inputs,
                      std::vector<Array>* outputs) {
  RunContext ctx;
  std::vector<Array*> in, out;
  for (Array& a : inputs) in.push_back(&a);
  for (Array& a : *outputs) out.push_back(&a);
  return Call(&ctx, target, config, std::move(in), std::move(out));
}

struct Kind {
  const char* letter;
  RtType type, real;
  bool complex;
};
constexpr Kind kKinds[] = {{"s", RtType::kF32, RtType::kF32, false},
                           {"d", RtType::kF64, RtType::kF64, false},
                           {"c", RtType::kC64, RtType::kF32, true},
                           {"z", RtType::kC128, RtType::kF64, true}};

// Two well-conditioned Hermitian matrices, as any of the routines takes them.
Array Matrices(const Kind& kind, int64_t n) {
  Array a(kind.type, {2, n, n}, true);
  std::mt19937 random(3);
  std::uniform_real_distribution<double> number(-1, 1);
  const int parts = kind.complex ? 2 : 1;
  const auto at = [&](int64_t b, int64_t i, int64_t j, int part, double value) {
    const int64_t place = ((b * n + j) * n + i) * parts + part;
    if (kind.real == RtType::kF32) {
      reinterpret_cast<float*>(a.bytes.data())[place] = static_cast<float>(value);
    } else {
      reinterpret_cast<double*>(a.bytes.data())[place] = value;
    }
  };
  for (int64_t b = 0; b < 2; ++b) {
    for (int64_t i = 0; i < n; ++i) {
      at(b, i, i, 0, 2.0 * n + number(random));
      for (int64_t j = 0; j < i; ++j) {
        const double re = number(random), im = number(random);
        at(b, i, j, 0, re);
        at(b, j, i, 0, re);
        if (kind.complex) at(b, i, j, 1, im);
        if (kind.complex) at(b, j, i, 1, -im);
      }
    }
  }
  return a;
}

// Runs both forms on the same arrays; `places` says where today's results are among the older ones.
void Compare(const std::string& now, const std::string& before, const std::string& config, std::vector<Array> scalars,
             const std::vector<Array>& arrays, std::vector<Array> older, const std::vector<int>& places) {
  SCOPED_TRACE(before);
  std::vector<Array> newer;
  for (int place : places) newer.push_back(older[place]);
  absl::Status status = CallOnce(now, config, arrays, &newer);
  ASSERT_TRUE(status.ok()) << status;
  scalars.insert(scalars.end(), arrays.begin(), arrays.end());
  status = CallOnce(before, "", scalars, &older);
  ASSERT_TRUE(status.ok()) << status;
  for (size_t i = 0; i < places.size(); ++i) EXPECT_EQ(older[places[i]].bytes, newer[i].bytes) << "result " << i;
}

TEST(LapackOriginal, GivesWhatTheNewFormGives) {
  constexpr int64_t n = 5;
  for (const Kind& kind : kKinds) {
    const auto name = [&](const char* real, const char* complex) {
      return absl::StrCat("lapack_", kind.letter, kind.complex ? complex : real);
    };
    const auto compare = [&](const std::string& target, const std::string& config, std::vector<Array> scalars,
                             const std::vector<Array>& arrays, std::vector<Array> results, std::vector<int> places) {
      Compare(target + "_ffi", target, config, std::move(scalars), arrays, std::move(results), places);
    };
    const Array a = Matrices(kind, n), m(kind.type, {2, n, n}, true), v(kind.type, {2, n}), w(kind.type, {2, n - 1}),
                work(kind.type, {64}), info(RtType::kS32, {2}), iwork(RtType::kS32, {40}), real(kind.real, {2, n}),
                off(kind.real, {2, n - 1}), pivots(RtType::kS32, {2, n});
    compare(name("getrf", "getrf"), "{}", {S32(2), S32(n), S32(n)}, {a}, {m, pivots, info}, {0, 1, 2});
    compare(name("geqrf", "geqrf"), "{}", {S32(2), S32(n), S32(n), S32(64)}, {a}, {m, v, info, work}, {0, 1});
    compare(name("orgqr", "ungqr"), "{}", {S32(2), S32(n), S32(n), S32(n), S32(64)}, {a, v}, {m, info, work}, {0});
    for (int lower : {0, 1}) {
      const std::string uplo = absl::StrCat("uplo = ", lower ? 76 : 85, " : ui8");
      compare(name("potrf", "potrf"), absl::StrCat("{", uplo, "}"), {S32(lower), S32(2), S32(n)}, {a}, {m, info},
              {0, 1});
      compare(name("syevd", "heevd"), absl::StrCat("{mode = 86 : ui8, ", uplo, "}"), {S32(lower), S32(2), S32(n)}, {a},
              {m, real, info, work, iwork}, {0, 1, 2});
      compare(name("sytrd", "hetrd"), absl::StrCat("{", uplo, "}"), {S32(n), S32(lower), S32(n), S32(2), S32(64)}, {a},
              {m, real, off, w, info, work}, {0, 1, 2, 3, 4});
      for (int trans : {0, 1, 2}) {
        Compare(absl::StrCat("lapack_", kind.letter, "trsm_ffi"), absl::StrCat("blas_", kind.letter, "trsm"),
                absl::StrCat("{side = ", lower ? 76 : 82, " : ui8, diag = 78 : ui8, trans_x = ", int{"NTC"[trans]},
                             " : ui8, ", uplo, "}"),
                {S32(lower), S32(lower), S32(trans), S32(0), S32(n), S32(n), S32(2),
                 [&] {
                   Array one(kind.type, {});
                   if (kind.real == RtType::kF32) *reinterpret_cast<float*>(one.bytes.data()) = 1;
                   if (kind.real == RtType::kF64) *reinterpret_cast<double*>(one.bytes.data()) = 1;
                   return one;
                 }()},
                {a, a}, {m}, {0});
      }
    }
    for (const auto& [full, vectors, mode] : {std::tuple{0, 0, 'N'}, {0, 1, 'S'}, {1, 1, 'A'}}) {
      compare(name("gesdd", "gesdd"), absl::StrCat("{mode = ", int{mode}, " : ui8}"),
              {S32(full), S32(vectors), S32(2), S32(n), S32(n), S32(64)}, {a}, {m, real, m, m, info, iwork, work},
              {0, 1, 2, 3, 4});
    }
    compare(name("gehrd", "gehrd"), "{low = 1 : i64, high = 5 : i64}",
            {S32(n), S32(1), S32(n), S32(n), S32(2), S32(64)}, {a}, {m, w, info, work}, {0, 1, 2});
    const Array c(kind.real == RtType::kF32 ? RtType::kC64 : RtType::kC128, {2, n, n}, true);
    const std::vector<Array> choices = {S32(2), S32(n), U8('V'), U8('V')};
    const std::vector<Array> sorts = {S32(2), S32(n), U8('V'), U8('N')};
    const char* const kBoth = "{compute_left = 86 : ui8, compute_right = 86 : ui8}";
    const char* const kMode = "{mode = 86 : ui8, sort = 78 : ui8}";
    if (kind.complex) {
      compare(name("", "geev"), kBoth, choices, {a}, {m, real, v, c, c, info}, {2, 3, 4, 5});
      compare(name("", "gees"), kMode, sorts, {a}, {m, real, v, m, info, info}, {0, 3, 2, 4, 5});
    } else {
      compare(name("geev", ""), kBoth, choices, {a}, {m, m, m, v, v, c, c, info}, {3, 4, 5, 6, 7});
      compare(name("gees", ""), kMode, sorts, {a}, {m, v, v, m, info, info}, {0, 3, 1, 2, 4, 5});
    }
  }
}

TEST(LapackOriginal, Errors) {
  std::vector<Array> out = {Array(RtType::kF32, {2, 2}, true), Array(RtType::kS32, {})};
  EXPECT_NE(CallOnce("lapack_spotrf", "", {S32(1)}, &out).ToString().find("takes more than 3 operands"),
            std::string::npos);
  const Array a(RtType::kF32, {2, 2}, true);
  EXPECT_NE(CallOnce("lapack_spotrf", "", {a, a, a, a}, &out).ToString().find("neither an integer nor the factor 1"),
            std::string::npos);
  out.pop_back();
  EXPECT_NE(
      CallOnce("lapack_spotrf", "", {S32(1), S32(1), S32(2), a}, &out).ToString().find("gives more than 1 results"),
      std::string::npos);
}

// The second matrix has a row of zeros: what comes out is large and finite, and the matrix maps it to almost nothing.
TEST(TridiagonalSolvePerturbed, SingularMatricesHaveFiniteSolutions) {
  constexpr int64_t n = 4;
  const std::vector<double> lower = {0, 1, 2, -1, 0, 1, 0, 1}, diagonal = {4, 1, 5, 3, 2, 3, 0, 1},
                            upper = {2, 3, 1, 0, 1, 1, 0, 0}, b = {1, 2, 3, 4, 4, 3, 2, 1};
  const auto array = [](const std::vector<double>& values, std::vector<int64_t> dims) {
    Array a(RtType::kF64, std::move(dims));
    std::memcpy(a.bytes.data(), values.data(), a.bytes.size());
    return a;
  };
  std::vector<Array> out = {Array(RtType::kF64, {2, n, 1})};
  const absl::Status status =
      CallOnce("tridiagonal_solve_perturbed_ffi", "{}",
               {array(lower, {2, n}), array(diagonal, {2, n}), array(upper, {2, n}), array(b, {2, n, 1})}, &out);
  ASSERT_TRUE(status.ok()) << status;
  const double* x = reinterpret_cast<const double*>(out[0].bytes.data());
  for (int64_t m = 0; m < 2; ++m) {
    double largest = 1;
    for (int64_t i = 0; i < n; ++i) {
      ASSERT_TRUE(std::isfinite(x[m * n + i]));
      largest = std::max(largest, std::abs(x[m * n + i]));
    }
    EXPECT_EQ(largest > 1e12, m == 1) << largest;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t at = m * n + i;
      double sum = diagonal[at] * x[at] - b[at];
      if (i > 0) sum += lower[at] * x[at - 1];
      if (i + 1 < n) sum += upper[at] * x[at + 1];
      // Where the row is one of the matrix, to rounding; where it is zero, as the perturbation is.
      EXPECT_LE(std::abs(sum), 16 * 2.3e-16 * largest + 4 * (m == 1 && i == 2)) << m << " " << i;
    }
  }
}

}  // namespace
}  // namespace xc
