// What this machine reaches at most, measured: the lines that a profile's figures are compared with.
#ifndef XC_SERVICE_CEILINGS_H_
#define XC_SERVICE_CEILINGS_H_

#include "absl/status/statusor.h"

namespace xc {

struct Ceilings {
  double gflops = 0;  // f32 product of 1,024 x 1,024 matrices: 10^9 operations a second
  double gbps = 0;    // sum of two arrays of 64 MiB, what is read and written: 10^9 bytes a second
};

// The best of some runs on `threads` threads (0: all), which take about a quarter of a second; the second time, what
// was measured the first time.
absl::StatusOr<Ceilings> MeasureCeilings(int threads);

}  // namespace xc

#endif  // XC_SERVICE_CEILINGS_H_
