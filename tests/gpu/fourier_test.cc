// Fourier transforms on the emulator, beside the interpreter.
#include <gtest/gtest.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "tests/gpu/testing.h"

namespace xc {
namespace {

TEST(FourierTest, EachKind) {
  ExpectSame(R"(HloModule m
ENTRY e { x = c64[3,12] parameter(0) y = f32[4,10] parameter(1) f = c64[3,12] fft(x), fft_type=FFT, fft_length={12}
  i = c64[3,12] fft(f), fft_type=IFFT, fft_length={12} h = c64[4,6] fft(y), fft_type=RFFT, fft_length={4,10}
  b = f32[4,10] fft(h), fft_type=IRFFT, fft_length={4,10}
  ROOT r = (c64[3,12], c64[3,12], c64[4,6], f32[4,10]) tuple(f, i, h, b) })");
}

// Passes: of one radix and several, of prime numbers, an odd number of them; each kind along each dimension; lengths of
// one point; single and double precision.
TEST(FourierTest, Passes) {
  struct Case {
    const char *operand, *result, *kind, *length;
  };
  const Case cases[] = {
      {"c64[4096]", "c64[4096]", "FFT", "4096"},
      {"c64[16384]", "c64[16384]", "IFFT", "16384"},
      {"c128[3,1000]", "c128[3,1000]", "FFT", "1000"},
      {"c64[2,1009]", "c64[2,1009]", "IFFT", "1009"},
      {"c64[131072]", "c64[131072]", "FFT", "131072"},
      {"f32[5,2310]", "c64[5,1156]", "RFFT", "2310"},
      {"f64[2,4097]", "c128[2,2049]", "RFFT", "4097"},
      {"c64[5,1156]", "f32[5,2310]", "IRFFT", "2310"},
      {"c128[2,2049]", "f64[2,4097]", "IRFFT", "4097"},
      {"c64[72,90]", "c64[72,90]", "FFT", "72,90"},
      {"c64[6,70,33]", "c64[6,70,33]", "IFFT", "6,70,33"},
      {"f32[2,96,70]", "c64[2,96,36]", "RFFT", "96,70"},
      {"c64[2,96,36]", "f32[2,96,70]", "IRFFT", "96,70"},
      {"c64[14,15,16,17]", "f32[14,15,16,32]", "IRFFT", "15,16,32"},
      {"c64[7,1]", "c64[7,1]", "FFT", "1"},
      {"f32[7,1]", "c64[7,1]", "RFFT", "1"},
      {"c64[4,13]", "c64[4,13]", "FFT", "13"},
  };
  for (const Case& c : cases) {
    ExpectSame(absl::StrCat("HloModule m\nENTRY e { x = ", c.operand, " parameter(0) ROOT f = ", c.result,
                            " fft(x), fft_type=", c.kind, ", fft_length={", c.length, "} }"));
  }
  // In the memory of the operand.
  ExpectSame(R"(HloModule m
ENTRY e { x = c64[3,50] parameter(0) y = c64[3,50] negate(x) f = c64[3,50] fft(y), fft_type=FFT, fft_length={50}
  ROOT g = c64[3,50] negate(f) })");
}

}  // namespace
}  // namespace xc
