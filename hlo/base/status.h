// Macros that pass a failed absl::Status or absl::StatusOr up to the caller. Each operand is evaluated once.
#ifndef HLO_BASE_STATUS_H_
#define HLO_BASE_STATUS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Returns the status from the enclosing function (whose type is Status or StatusOr<T>) unless it is OK.
#define XC_RETURN_IF_ERROR(expr)                                \
  do {                                                          \
    if (::absl::Status xc_status_ = (expr); !xc_status_.ok()) { \
      return xc_status_;                                        \
    }                                                           \
  } while (false)

// XC_ASSIGN_OR_RETURN(int x, F()); declares or assigns the left side with the value of a StatusOr, or returns its
// error. The left side has no comma outside parentheses; the right side may.
#define XC_ASSIGN_OR_RETURN(lhs, ...) \
  XC_ASSIGN_OR_RETURN_(XC_STATUS_CONCAT_(xc_status_or_, __LINE__), lhs, (__VA_ARGS__))

#define XC_ASSIGN_OR_RETURN_(temp, lhs, expr) \
  auto&& temp = expr;                         \
  if (!temp.ok()) {                           \
    return ::std::move(temp).status();        \
  }                                           \
  lhs = *::std::move(temp)
#define XC_STATUS_CONCAT_(a, b) XC_STATUS_CONCAT_INNER_(a, b)
#define XC_STATUS_CONCAT_INNER_(a, b) a##b

#endif  // HLO_BASE_STATUS_H_
