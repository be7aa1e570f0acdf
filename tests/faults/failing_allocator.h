// The allocator of a test program that is linked with it, in which chosen allocations fail: operator new throws
// std::bad_alloc, malloc and its like give null.
#ifndef XC_TESTS_FAULTS_FAILING_ALLOCATOR_H_
#define XC_TESTS_FAULTS_FAILING_ALLOCATOR_H_

#include <cstdint>

namespace xc {

enum class Failing {
  kOne,  // one allocation
  kAll,  // that one and all later ones
};

// From now on allocations of all threads are counted, and the one of number `first` (from 1) fails.
void FailAllocations(int64_t first, Failing failing);
// No more fail. Returns how many did.
int64_t StopFailing();
// Allocations counted since FailAllocations.
int64_t CountedAllocations();
// Blocks that are allocated now.
int64_t LiveAllocations();

}  // namespace xc

#endif  // XC_TESTS_FAULTS_FAILING_ALLOCATOR_H_
