// XC_CHECK and its kin: they stop the process with file, line and message when the compiler itself is wrong. No user
// input may reach a failing check; what a user can cause is an absl::Status (hlo/base/status.h).
#ifndef HLO_BASE_CHECK_H_
#define HLO_BASE_CHECK_H_

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <type_traits>
#include <utility>

namespace xc::internal {

// Gathers the message streamed after a failed check; its destructor writes it to stderr and aborts.
class CheckFailure {
 public:
  CheckFailure(const char* file, int line, const char* condition) {
    stream_ << file << ":" << line << ": internal error: check failed: " << condition << " ";
  }
  CheckFailure(const CheckFailure&) = delete;
  CheckFailure& operator=(const CheckFailure&) = delete;
  [[noreturn]] ~CheckFailure() {
    std::fprintf(stderr, "%s\n", stream_.str().c_str());
    std::fflush(stderr);
    std::abort();
  }
  std::ostream& stream() { return stream_; }

 private:
  std::ostringstream stream_;
};

// Makes both branches of the check expression void; & binds looser than <<.
struct CheckVoidify {
  void operator&(std::ostream&) const {}
};

template <typename T>
void PrintCheckOperand(std::ostream& os, const T& value) {
  if constexpr (std::is_enum_v<T>) {
    os << static_cast<long long>(value);
  } else if constexpr (requires { os << value; }) {
    os << value;
  } else {
    os << "?";
  }
}

// The two operands of a comparison: references to lvalues, copies of temporaries.
template <typename A, typename B>
struct CheckPair {
  A a;
  B b;
};

template <typename A, typename B>
CheckPair<A, B> MakeCheckPair(A&& a, B&& b) {
  return {std::forward<A>(a), std::forward<B>(b)};
}

template <typename A, typename B>
std::ostream& operator<<(std::ostream& os, const CheckPair<A, B>& pair) {
  os << "(";
  PrintCheckOperand(os, pair.a);
  os << " vs. ";
  PrintCheckOperand(os, pair.b);
  return os << ") ";
}

}  // namespace xc::internal

// XC_CHECK(condition) << "what it means"; the streamed message is evaluated only on failure.
#define XC_CHECK(condition)            \
  (__builtin_expect(!!(condition), 1)) \
      ? (void)0                        \
      : ::xc::internal::CheckVoidify() & ::xc::internal::CheckFailure(__FILE__, __LINE__, #condition).stream()

// Compares two values, each evaluated once, and prints both on failure.
#define XC_CHECK_OP_(op, x, y)                                               \
  for (const auto& xc_check_pair_ = ::xc::internal::MakeCheckPair((x), (y)); \
       __builtin_expect(!(xc_check_pair_.a op xc_check_pair_.b), 0);)        \
  ::xc::internal::CheckFailure(__FILE__, __LINE__, #x " " #op " " #y).stream() << xc_check_pair_
#define XC_CHECK_EQ(x, y) XC_CHECK_OP_(==, x, y)
#define XC_CHECK_NE(x, y) XC_CHECK_OP_(!=, x, y)
#define XC_CHECK_LT(x, y) XC_CHECK_OP_(<, x, y)
#define XC_CHECK_LE(x, y) XC_CHECK_OP_(<=, x, y)
#define XC_CHECK_GT(x, y) XC_CHECK_OP_(>, x, y)
#define XC_CHECK_GE(x, y) XC_CHECK_OP_(>=, x, y)

// Checked only in builds without NDEBUG; the condition must compile in both.
#ifdef NDEBUG
#define XC_DCHECK(condition) \
  while (false) XC_CHECK(condition)
#else
#define XC_DCHECK(condition) XC_CHECK(condition)
#endif

#endif  // HLO_BASE_CHECK_H_
