// Literals as text. Floats are written with as many digits as XLA writes: those of the short form if it reads back as
// the same value, else enough for any value of the type.
#include <charconv>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "hlo/text/float_bits.h"
#include "hlo/text/print_impl.h"

namespace xc {
namespace {

// Significant digits that tell all values with `mantissa` stored bits apart.
constexpr int MaxDigits(int mantissa) { return (mantissa + 1) * 30103 / 100000 + 2; }
static_assert(MaxDigits(23) == 9 && MaxDigits(52) == 17 && MaxDigits(7) == 4 && MaxDigits(10) == 5);

template <typename T>
void AppendFloat(T value, std::string* out) {
  const double wide = static_cast<double>(value);
  if (std::isnan(wide)) {
    const uint64_t payload = FloatBits<T>::Payload(value);
    out->append(FloatBits<T>::Negative(value) ? "-nan" : "nan");
    if (payload != FloatBits<T>::kQuietPayload) absl::StrAppend(out, "(0x", absl::Hex(payload), ")");
    return;
  }
  if (std::isinf(wide)) {
    out->append(wide < 0 ? "-inf" : "inf");
    return;
  }
  char buffer[40];
  char* const end = buffer + sizeof(buffer);
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
    constexpr int kShort = std::is_same_v<T, float> ? 6 : 15;
    const auto tried = std::to_chars(buffer, end, value, std::chars_format::general, kShort);
    T again = 0;
    std::from_chars(buffer, tried.ptr, again);
    if (again == value) {
      out->append(buffer, tried.ptr - buffer);
      return;
    }
  }
  const auto done = std::to_chars(buffer, end, wide, std::chars_format::general, MaxDigits(FloatBits<T>::kMantissa));
  out->append(buffer, done.ptr - buffer);
}

template <typename T>
struct IsNarrowInt : std::false_type {};
template <int kBits, bool kSigned>
struct IsNarrowInt<NarrowInt<kBits, kSigned>> : std::true_type {};

// `scalar`: not inside an array, where pred is written as a word.
template <typename T>
void AppendElement(const T& value, bool scalar, std::string* out) {
  if constexpr (std::is_same_v<T, bool>) {
    out->append(scalar ? (value ? "true" : "false") : (value ? "1" : "0"));
  } else if constexpr (std::is_integral_v<T> || IsNarrowInt<T>::value) {
    char buffer[24];
    std::to_chars_result done;
    if constexpr (IsNarrowInt<T>::value) {
      done = std::to_chars(buffer, buffer + sizeof(buffer), static_cast<int64_t>(value));
    } else {
      done = std::to_chars(buffer, buffer + sizeof(buffer), value);
    }
    out->append(buffer, done.ptr - buffer);
  } else if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>) {
    out->push_back('(');
    AppendFloat(value.real(), out);
    out->append(", ");
    AppendFloat(value.imag(), out);
    out->push_back(')');
  } else {
    AppendFloat(value, out);
  }
}

// Braces of vectors, and of innermost dimensions of one element, close up to what they hold: {1, 2}, { {1}, {2} },
// { { 1, 2 } }. From four dimensions on, comments say at which index of the dimension around it a brace stands.
template <typename T>
void AppendDim(const std::vector<int64_t>& dims, size_t dim, int64_t index, const T*& data, std::string* out) {
  const size_t rank = dims.size();
  if (dim == rank) {
    AppendElement(*data++, rank == 0, out);
    return;
  }
  const bool spaced = rank > 1 && !(dim + 1 == rank && dims[dim] == 1);
  out->append(spaced ? "{ " : "{");
  if (rank >= 4 && dim >= 1 && dim + 1 < rank) absl::StrAppend(out, "/*i", dim - 1, "=", index, "*/ ");
  for (int64_t i = 0; i < dims[dim]; ++i) {
    if (i > 0) out->append(", ");
    AppendDim(dims, dim + 1, i, data, out);
  }
  out->append(spaced ? " }" : "}");
}

}  // namespace

void AppendLiteral(const Literal& literal, int64_t max_elements, std::string* out) {
  if (literal.elided()) {
    out->append("{...}");
    return;
  }
  if (literal.IsTuple()) {
    out->append("( ");
    bool first = true;
    for (const Literal& element : literal.tuple()) {
      if (!first) out->append(", ");
      first = false;
      AppendLiteral(element, max_elements, out);
    }
    out->append(" )");
    return;
  }
  const int64_t count = literal.size();
  if (max_elements >= 0 && count > max_elements) {
    out->append("{...}");
    return;
  }
  if (count == 0) {
    // The outer dimensions of an empty array may be huge.
    out->append("{}");
    return;
  }
  DispatchArrayType(
      literal.shape().type(),
      [&]<ElementType kType>() {
        const Native<kType>* data = reinterpret_cast<const Native<kType>*>(literal.bytes());
        AppendDim(literal.shape().dims(), 0, 0, data, out);
      },
      [] {});
}

std::string PrintLiteral(const Literal& literal, int64_t max_elements) {
  std::string out;
  AppendLiteral(literal, max_elements, &out);
  return out;
}

std::string PrintFloat(float value) {
  std::string out;
  AppendFloat(value, &out);
  return out;
}

std::string PrintFloat(double value) {
  std::string out;
  AppendFloat(value, &out);
  return out;
}

}  // namespace xc
