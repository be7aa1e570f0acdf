// How devices that run one program at the same time meet. Collectives are written on this one operation; what stands
// behind it, threads of a process (device_group.h) or something that goes further, is the transport's affair.
#ifndef XC_BACKENDS_RUNTIME_COMMUNICATOR_H_
#define XC_BACKENDS_RUNTIME_COMMUNICATOR_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace xc {

// Arrays that each member of a group brought, by its rank in the group.
using ExchangedArrays = std::vector<std::vector<const void*>>;

class Communicator {
 public:
  virtual ~Communicator() = default;

  // The caller's device number, and how many there are.
  virtual int64_t device() const = 0;
  virtual int64_t devices() const = 0;

  // Meets the other devices of `group` (numbers in the order of their ranks, the caller's among them), which must call
  // this with the same group and the same `op`, a number that the program gives to each of its collectives. Returns
  // when all are there, with what each brought; that stays readable until its owner comes to a later meeting of the
  // same group and has left it, so a meeting without arrays ends a collective. `what` describes the op, its shapes
  // included, for errors and to compare it with the others'. Errors: FailedPrecondition where the others are at other
  // ops, have ended or were given other shapes; DeadlineExceeded, with the devices that are missing.
  virtual absl::StatusOr<std::shared_ptr<const ExchangedArrays>> Meet(int64_t op, absl::string_view what,
                                                                      absl::Span<const int64_t> group,
                                                                      std::vector<const void*> arrays) = 0;
};

}  // namespace xc

#endif  // XC_BACKENDS_RUNTIME_COMMUNICATOR_H_
