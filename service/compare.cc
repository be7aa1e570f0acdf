#include "service/compare.h"

#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace xc {
namespace {

std::string ShapeDifference(const Literal& actual, const Literal& expected) {
  if (Compatible(actual.shape(), expected.shape())) return "";
  return absl::StrCat("shape ", actual.shape().ToString(false), ", expected ", expected.shape().ToString(false));
}

std::string Show(std::complex<double> v, ElementType type) {
  if (IsComplex(type)) return absl::StrCat("(", v.real(), ", ", v.imag(), ")");
  return absl::StrCat(v.real());
}

bool IsNan(std::complex<double> v) { return std::isnan(v.real()) || std::isnan(v.imag()); }
bool IsFinite(std::complex<double> v) { return std::isfinite(v.real()) && std::isfinite(v.imag()); }

bool CloseParts(double a, double e, double t) {
  if (std::isnan(a) || std::isnan(e)) return std::isnan(a) && std::isnan(e);
  if (std::isinf(a) || std::isinf(e)) return a == e;
  return std::fabs(a - e) <= t + t * std::fabs(e);
}

struct Tolerance {
  double close, norm;
};
Tolerance ToleranceOf(ElementType type) {
  switch (type) {
    case ElementType::kF32:
    case ElementType::kC64:
      return {1e-4, 2e-4};
    case ElementType::kF64:
    case ElementType::kC128:
      return {1e-6, 1e-9};
    case ElementType::kF16:
      return {2e-3, 4e-3};
    default:
      return IsFloating(type) ? Tolerance{2e-2, 3e-2} : Tolerance{0, 0};
  }
}

}  // namespace

std::string CompareExact(const Literal& actual, const Literal& expected) {
  std::string wrong = ShapeDifference(actual, expected);
  if (!wrong.empty()) return wrong;
  const ElementType type = actual.shape().type();
  const int width = StorageBytes(type);
  const bool inexact = IsFloating(type) || IsComplex(type);
  int64_t count = 0, first = -1;
  for (int64_t i = 0; i < actual.size(); ++i) {
    if (std::memcmp(actual.bytes() + i * width, expected.bytes() + i * width, width) == 0) continue;
    if (inexact && IsNan(actual.GetComplex(i)) && IsNan(expected.GetComplex(i))) continue;
    if (first < 0) first = i;
    ++count;
  }
  if (count == 0) return "";
  return absl::StrCat(count, " of ", actual.size(), " elements differ, first at ", first, ": ",
                      Show(actual.GetComplex(first), type), ", expected ", Show(expected.GetComplex(first), type));
}

std::string CompareClose(const Literal& actual, const Literal& expected) {
  const ElementType type = actual.shape().type();
  if (!IsFloating(type) && !IsComplex(type)) return CompareExact(actual, expected);
  std::string wrong = ShapeDifference(actual, expected);
  if (!wrong.empty()) return wrong;
  const double t = ToleranceOf(type).close;
  int64_t count = 0, first = -1;
  for (int64_t i = 0; i < actual.size(); ++i) {
    const std::complex<double> a = actual.GetComplex(i), e = expected.GetComplex(i);
    bool ok;
    if (!IsComplex(type)) {
      ok = CloseParts(a.real(), e.real(), t);
    } else if (IsFinite(a) && IsFinite(e)) {
      ok = std::abs(a - e) <= t + t * std::abs(e);
    } else {
      ok = (IsNan(a) && IsNan(e)) || (CloseParts(a.real(), e.real(), t) && CloseParts(a.imag(), e.imag(), t));
    }
    if (ok) continue;
    if (first < 0) first = i;
    ++count;
  }
  if (count == 0) return "";
  return absl::StrCat(count, " of ", actual.size(), " elements differ, first at ", first, ": ",
                      Show(actual.GetComplex(first), type), ", expected ", Show(expected.GetComplex(first), type));
}

std::string CompareNorm(const Literal& actual, const Literal& expected) {
  std::string wrong = ShapeDifference(actual, expected);
  if (!wrong.empty()) return wrong;
  const ElementType type = actual.shape().type();
  if (!IsFloating(type) && !IsComplex(type)) return CompareExact(actual, expected);
  double error = 0, norm = 0;
  for (int64_t i = 0; i < actual.size(); ++i) {
    const std::complex<double> a = actual.GetComplex(i), e = expected.GetComplex(i);
    if (IsFinite(a) != IsFinite(e)) {
      return absl::StrCat("element ", i, ": ", Show(a, type), ", expected ", Show(e, type));
    }
    if (!IsFinite(a)) continue;
    error += std::norm(a - e);
    norm += std::norm(e);
  }
  const double relative = std::sqrt(error) / std::max(std::sqrt(norm), 1e-30);
  const double t = ToleranceOf(type).norm;
  if (relative <= t) return "";
  return absl::StrCat("relative error ", relative, " > ", t);
}

}  // namespace xc
