// Accesses to memory: from the lanes' addresses to places in the host's memory, with every check.
#ifndef XC_BACKENDS_GPU_EMULATOR_ACCESS_H_
#define XC_BACKENDS_GPU_EMULATOR_ACCESS_H_

#include <cstdint>

#include "backends/gpu/emulator/machine.h"

namespace xc::emulator {

// Fills `at` for the lanes of `mask` with the places of their accesses to `bytes` bytes, whose address is Instruction's
// a + imm in space x (z: the address has 32 bits). Raises a fault and returns false if an address was not written, is
// not allocated or not a multiple of `alignment`. Does not look for races, for which a write's value must be known.
bool Resolve(Warp& w, const Instruction& i, uint32_t mask, int bytes, int alignment, uint8_t** at);

// Looks for races of the accesses at `at`. `values`, if given, are what is written, lane after lane.
bool CheckRaces(Warp& w, const Instruction& i, uint32_t mask, int bytes, Access access, uint8_t* const* at,
                const uint8_t* values);

// Of the lanes of `mask`, those that read only bytes that were written. All, but in shared memory.
uint32_t DefinedLanes(Warp& w, uint32_t mask, int bytes, uint8_t* const* at);
// Notes that lanes wrote there; `defined`: those that wrote a value that is one. Outside of shared memory an undefined
// value is a fault, and then false is returned.
bool NoteWritten(Warp& w, const Instruction& i, uint32_t mask, int bytes, uint8_t* const* at, uint32_t defined);

// Whether the place is in the block's shared memory, and at which offset.
bool IsShared(const Warp& w, const uint8_t* at, int64_t* offset);

}  // namespace xc::emulator

#endif  // XC_BACKENDS_GPU_EMULATOR_ACCESS_H_
