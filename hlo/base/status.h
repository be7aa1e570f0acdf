// Macros that pass an absl::Status on to the caller.
#ifndef XC_HLO_BASE_STATUS_H_
#define XC_HLO_BASE_STATUS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define XC_STATUS_CONCAT_INNER(a, b) a##b
#define XC_STATUS_CONCAT(a, b) XC_STATUS_CONCAT_INNER(a, b)

// Returns the status of `expr` from the enclosing function if it is an error.
#define XC_RETURN_IF_ERROR(expr)                            \
  do {                                                      \
    if (absl::Status xc_status = (expr); !xc_status.ok()) { \
      return xc_status;                                     \
    }                                                       \
  } while (false)

// Assigns the value of the StatusOr `expr` to `lhs` (a declaration or an lvalue), or returns its error.
#define XC_ASSIGN_OR_RETURN(lhs, expr) XC_ASSIGN_OR_RETURN_IMPL(XC_STATUS_CONCAT(xc_status_or_, __LINE__), lhs, expr)
#define XC_ASSIGN_OR_RETURN_IMPL(temp, lhs, expr)  \
  auto temp = (expr);                              \
  if (!temp.ok()) return std::move(temp).status(); \
  lhs = *std::move(temp)

#endif  // XC_HLO_BASE_STATUS_H_
