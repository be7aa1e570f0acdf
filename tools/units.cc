#include "tools/units.h"

#include <cmath>
#include <cstdio>
#include <iterator>

namespace xc {
namespace {

// Three significant digits and a unit.
std::string Scaled(double value, const char* unit) {
  char text[64];
  const int decimals = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
  std::snprintf(text, sizeof(text), "%.*f %s", decimals, value, unit);
  return text;
}

}  // namespace

std::string HumanBytes(int64_t bytes) {
  if (bytes < 1024) return std::to_string(bytes) + (bytes == 1 ? " byte" : " bytes");
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double value = static_cast<double>(bytes) / 1024;
  size_t unit = 0;
  for (; value >= 1023.5 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  return Scaled(value, kUnits[unit]);
}

std::string HumanSeconds(double seconds) {
  if (!(seconds >= 0)) return "?";
  if (seconds < 999.5e-9) return Scaled(seconds * 1e9, "ns");
  if (seconds < 999.5e-6) return Scaled(seconds * 1e6, "µs");
  if (seconds < 0.9995) return Scaled(seconds * 1e3, "ms");
  if (seconds < 60) return Scaled(seconds, "s");
  const auto whole = static_cast<int64_t>(std::llround(seconds));
  const std::string rest = std::to_string(whole % 60) + " s";
  if (whole < 3600) return std::to_string(whole / 60) + " min " + rest;
  return std::to_string(whole / 3600) + " h " + std::to_string(whole / 60 % 60) + " min";
}

std::string HumanCount(int64_t count, const std::string& noun) {
  std::string digits = std::to_string(count);
  for (int at = static_cast<int>(digits.size()) - 3; at > (count < 0 ? 1 : 0); at -= 3) digits.insert(at, ",");
  return digits + " " + noun + (count == 1 ? "" : "s");
}

}  // namespace xc
