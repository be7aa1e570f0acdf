// XC_CHECK for conditions that no input can violate: prints where and what, then aborts.
#ifndef XC_HLO_BASE_CHECK_H_
#define XC_HLO_BASE_CHECK_H_

#include <cstdio>
#include <cstdlib>
#include <sstream>

namespace xc::internal {

// Collects the message of a failed check and aborts at the end of the full expression.
class CheckFailure {
 public:
  CheckFailure(const char* file, int line, const char* condition) {
    stream_ << file << ":" << line << ": internal error, check failed: " << condition << " ";
  }
  [[noreturn]] ~CheckFailure() {
    std::fprintf(stderr, "%s\n", stream_.str().c_str());
    std::abort();
  }
  std::ostream& stream() { return stream_; }

 private:
  std::ostringstream stream_;
};

struct CheckVoid {
  void operator&(std::ostream&) {}
};

}  // namespace xc::internal

#define XC_CHECK(condition)            \
  (__builtin_expect(!!(condition), 1)) \
      ? (void)0                        \
      : ::xc::internal::CheckVoid() & ::xc::internal::CheckFailure(__FILE__, __LINE__, #condition).stream()
#define XC_CHECK_EQ(a, b) XC_CHECK((a) == (b))
#define XC_CHECK_NE(a, b) XC_CHECK((a) != (b))
#define XC_CHECK_LT(a, b) XC_CHECK((a) < (b))
#define XC_CHECK_LE(a, b) XC_CHECK((a) <= (b))
#define XC_CHECK_GT(a, b) XC_CHECK((a) > (b))
#define XC_CHECK_GE(a, b) XC_CHECK((a) >= (b))
#ifdef NDEBUG
#define XC_DCHECK(condition) XC_CHECK(true || (condition))
#else
#define XC_DCHECK(condition) XC_CHECK(condition)
#endif

#endif  // XC_HLO_BASE_CHECK_H_
