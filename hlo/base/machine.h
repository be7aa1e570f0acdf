// What this process may use of the machine: not all that is there, where a control group (a container, a service), the
// mask of CPUs or a limit of the process says less.
#ifndef XC_HLO_BASE_MACHINE_H_
#define XC_HLO_BASE_MACHINE_H_

#include <cstdint>
#include <string>

namespace xc {

// CPUs that may work at once: those of the mask, or the quota of the control groups, rounded up, if that is less. At
// least 1.
int AvailableCpus();

// Bytes of memory: the least of the machine's, the control groups' and the process's limit of addresses. Looked up
// once.
int64_t AvailableMemory();

// Limits of the process's control group and all those above it, of version 1 or 2.
struct CgroupLimits {
  int64_t memory = INT64_MAX;  // bytes
  double cpus = 1e9;
};
// `proc` holds the process's files "cgroup" and "mountinfo", whose paths begin at `root`.
CgroupLimits ReadCgroupLimits(const std::string& proc = "/proc/self", const std::string& root = "");

}  // namespace xc

#endif  // XC_HLO_BASE_MACHINE_H_
