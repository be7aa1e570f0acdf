// The answer to "can we?": yes, or no with a reason that a user can read.
#ifndef XC_COMPILER_DECISION_H_
#define XC_COMPILER_DECISION_H_

#include <string>
#include <utility>

namespace xc {

struct Decision {
  static Decision Yes() { return {}; }
  static Decision No(std::string reason) { return {std::move(reason)}; }
  explicit operator bool() const { return reason.empty(); }
  std::string reason;
};

}  // namespace xc

#endif  // XC_COMPILER_DECISION_H_
