// Quantities as people read them.
#ifndef XC_TOOLS_UNITS_H_
#define XC_TOOLS_UNITS_H_

#include <cstdint>
#include <string>

namespace xc {

// "17 bytes", "1.2 KiB", "340 MiB".
std::string HumanBytes(int64_t bytes);
// "850 ns", "12.3 µs", "4.56 ms", "1.2 s", "3 min 20 s".
std::string HumanSeconds(double seconds);
// "1 instruction", "3 instructions", "12,345 instructions".
std::string HumanCount(int64_t count, const std::string& noun);

}  // namespace xc

#endif  // XC_TOOLS_UNITS_H_
