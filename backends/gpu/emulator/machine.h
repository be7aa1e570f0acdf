// The emulated machine: decoded code, warps with their frames of registers, blocks with shared memory, launches.
#ifndef XC_BACKENDS_GPU_EMULATOR_MACHINE_H_
#define XC_BACKENDS_GPU_EMULATOR_MACHINE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backends/gpu/emulator/memory.h"
#include "backends/gpu/emulator/ptx.h"
#include "backends/gpu/emulator/races.h"

namespace xc::emulator {

inline constexpr int kLanes = 32;
inline constexpr uint32_t kAllLanes = ~uint32_t{0};
// Where generic addresses of a space begin. No address of the host is there.
inline constexpr uint64_t kSharedWindow = uint64_t{1} << 60;
inline constexpr uint64_t kLocalWindow = uint64_t{2} << 60;
inline constexpr uint64_t kParamWindow = uint64_t{3} << 60;
inline constexpr uint64_t kWindowBytes = uint64_t{1} << 32;
// Addresses of shared memory begin here, as on a device of compute capability 9.0, so that null is no address.
inline constexpr uint64_t kSharedBase = 1024;
inline constexpr uint64_t kLocalBase = 16;

// A register's place in a frame: a byte offset, a multiple of 64. A register of n bytes has 32 lanes of n bytes there;
// a predicate is one mask of 32 bits.
using Slot = int32_t;

struct Warp;
struct Instruction;
// Executes the instruction in the lanes of `mask`, which is not 0.
using Handler = void (*)(Warp& w, const Instruction& i, uint32_t mask);

// Decoded. What the fields but for the first three mean is the handler's affair.
struct Instruction {
  Handler run = nullptr;
  Slot guard = -1;  // a predicate, or none
  bool guard_negated = false;
  Slot d = -1, e = -1;          // results
  Slot a = -1, b = -1, c = -1;  // sources
  int32_t x = 0, y = 0, z = 0;
  int64_t imm = 0;
  int32_t list = 0, count = 0;  // slots in Code::lists
  int32_t line = 0;             // in the PTX
  int32_t range = -1;           // memory: which allocation the last execution met (Launch::last_range)
};

enum class SpecialRegister : uint8_t {
  kTidX,
  kTidY,
  kTidZ,
  kNtidX,
  kNtidY,
  kNtidZ,
  kCtaidX,
  kCtaidY,
  kCtaidZ,
  kNctaidX,
  kNctaidY,
  kNctaidZ,
  kLaneId,
  kWarpId,
  kNwarpId,
  kSmId,
  kNsmId,
  kGridId,
  kLaneMaskEq,
  kLaneMaskLe,
  kLaneMaskLt,
  kLaneMaskGe,
  kLaneMaskGt,
  kDynamicSharedBytes,
  kTotalSharedBytes,
  kZero,
  kOne,
};

// A function as a kernel runs it.
struct Code {
  std::string name;
  std::vector<Instruction> instructions;
  std::vector<std::string> texts;  // of each instruction, for messages
  std::vector<Slot> lists;
  int32_t frame_bytes = 64;
  struct Constant {
    Slot slot;
    int bytes;
    uint64_t bits;
  };
  std::vector<Constant> constants;
  std::vector<std::pair<SpecialRegister, Slot>> specials;
  struct LocalAddress {
    Slot slot;
    int bytes;
    int64_t offset;  // in the function's local memory
  };
  std::vector<LocalAddress> local_addresses;
  // .param variables: lane after lane, `bytes` each.
  struct Parameter {
    Slot slot;
    int32_t bytes;
  };
  std::vector<Parameter> results, parameters;
  int64_t local_bytes = 0;  // of a lane
};

struct KernelParameter {
  int64_t offset = 0, bytes = 0;
};

struct Kernel {
  std::string name;
  std::vector<std::unique_ptr<Code>> code;  // [0] is the entry
  std::vector<KernelParameter> parameters;
  int64_t parameter_bytes = 0;
  int64_t shared_bytes = 0;  // static
  int max_threads = 1024;
  uint32_t required[3] = {0, 0, 0};
  int granule = 4;         // the narrowest access to memory that may be shared, in bytes
  bool has_fence = false;  // of the device's scope: blocks may wait for each other
  int num_ranges = 0;
  int num_registers = 0;
};

struct Fault {
  enum Kind : uint8_t {
    kNone,
    kAddress,
    kMisaligned,
    kUninitialised,
    kDivergence,
    kRace,
    kTrap,
    kAssert,
    kTimeout,
    kDeadlock,
    kIllegal,
  };
  Kind kind = kNone;
  std::string text;
};

struct LaunchOptions {
  bool check_races = true;
  bool reversed = false;                        // blocks and warps in the opposite order
  int64_t max_instructions = int64_t{1} << 40;  // of warps, until it is a fault
};

struct Launch {
  const Kernel* kernel = nullptr;
  Memory* memory = nullptr;
  LaunchOptions options;
  uint32_t grid[3] = {1, 1, 1}, block[3] = {1, 1, 1};
  int64_t dynamic_shared_bytes = 0;
  const uint8_t* parameters = nullptr;
  uint64_t id = 0;
  // Results.
  Fault fault;
  int64_t executed = 0;  // instructions of warps

  std::vector<AddressRange> last_range;
  GlobalRaces* races = nullptr;
};

struct Block;

struct Warp {
  enum State : uint8_t { kRunning, kAtBarrier, kDone, kFaulted };

  uint8_t* frame = nullptr;     // registers
  uint32_t* defined = nullptr;  // by slot / 64: the lanes whose value was written
  const Instruction* pc = nullptr;
  uint32_t active = 0;         // lanes that execute
  int32_t reconvergence = -1;  // the instruction at which they meet those of the stack's top; -1: none
  State state = kDone;
  uint32_t live = 0;  // lanes that have not exited
  uint32_t all = 0;   // lanes that exist
  const Code* code = nullptr;
  Block* block = nullptr;
  Launch* launch = nullptr;
  int index = 0;  // in the block

  // Lanes that wait for others, or for their turn.
  struct Waiting {
    int32_t pc;
    int32_t reconvergence;
    uint32_t mask;
  };
  std::vector<Waiting> stack;
  // A call that has not returned.
  struct Call {
    const Instruction* call;
    const Code* code;
    size_t stack_size;
    uint32_t active;
    int32_t reconvergence;
    int64_t local_base;
  };
  std::vector<Call> calls;
  // Frames by depth of calls, kept for the next use.
  struct Frame {
    std::unique_ptr<uint8_t[]> memory;
    size_t bytes = 0;
    const Code* prepared = nullptr;  // its constants are in place
  };
  std::vector<Frame> frames;
  std::vector<uint8_t> local;  // lane after lane, local_size bytes each
  int64_t local_size = 0, local_base = 0, local_top = 0;

  // At a barrier.
  int barrier = 0;
  int64_t barrier_threads = 0;  // 0: all of the block
  const Instruction* waiting_at = nullptr;
  int reduction = 0;  // 0 none, 1 and, 2 or, 3 popc
  uint32_t reduction_input = 0;

  // Copies that cp.async began, by groups; the last group is open.
  struct Copy {
    uint8_t* to;
    const uint8_t* from;
    int32_t bytes, copied;
    int32_t lane, line;
  };
  std::vector<std::vector<Copy>> copies;

  // Ends the warp and its launch. The text names kernel, line, block, and thread (of `lane`, -1: none).
  void Raise(const Instruction& i, Fault::Kind kind, int lane, const std::string& what);
  // Gives the frame of the current depth to `code`: registers undefined, constants and special registers in place.
  void EnterFrame(const Code& code);
};

struct Block {
  Launch* launch = nullptr;
  uint32_t index[3] = {0, 0, 0};
  uint64_t linear = 0;
  std::vector<Warp> warps;
  std::vector<uint8_t> shared;          // begins at kSharedBase
  std::vector<uint8_t> shared_defined;  // 1 for a byte that was written
  SharedRaces races;
  int64_t threads = 0;
  // Of each barrier: warps that arrived without waiting.
  std::array<uint32_t, 16> arrived{};
};

// Runs all blocks; launch->fault says how it ended.
void Run(Launch* launch);

}  // namespace xc::emulator

#endif  // XC_BACKENDS_GPU_EMULATOR_MACHINE_H_
