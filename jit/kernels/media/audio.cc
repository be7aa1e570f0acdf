// Host kernels that read and write sound files: RIFF WAVE with 16-bit samples.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "jit/kernels/kernel.h"

namespace xc {
namespace {

constexpr float kScale = 32768;  // of a 16-bit sample

// Little-endian numbers out of the bytes of a file.
class WaveReader {
 public:
  explicit WaveReader(absl::string_view bytes) : bytes_(bytes) {}

  bool Tag(absl::string_view tag) { return Take(tag.size()) == tag; }
  absl::string_view Take(size_t n) {
    absl::string_view taken = bytes_.substr(0, n);
    good_ &= taken.size() == n;
    bytes_.remove_prefix(taken.size());
    return taken;
  }
  uint32_t Number(size_t bytes) {
    absl::string_view taken = Take(bytes);
    uint32_t v = 0;
    for (size_t i = taken.size(); i-- > 0;) v = v << 8 | static_cast<uint8_t>(taken[i]);
    return v;
  }
  bool good() const { return good_; }
  size_t left() const { return bytes_.size(); }

 private:
  absl::string_view bytes_;
  bool good_ = true;
};

// The samples, [time, channels] in [-1, 1), and the sample rate. Both sizes can be asked for: the sound is cut or
// followed by silence, the last channel repeated.
absl::Status DecodeWav(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t channels, c.node.Int("desired_channels"));
  XC_ASSIGN_OR_RETURN(int64_t samples, c.node.Int("desired_samples"));
  if (c.in(0).rank() != 0) return c.Error("contents must be scalar");
  WaveReader file(c.in(0).strings()[0]);
  if (!file.Tag("RIFF")) return c.Error("header mismatch: expected RIFF");
  file.Take(4);
  if (!file.Tag("WAVE")) return c.Error("header mismatch: expected WAVE");
  uint32_t has = 0, rate = 0;
  for (;;) {
    const bool is_format = file.left() >= 4 && file.Tag("fmt ");
    if (!file.good()) return c.Error("data is too short: no format");
    const uint32_t size = file.Number(4);
    if (!is_format) {
      file.Take(size);
      if (!file.good() || file.left() < 8) return c.Error("data is too short: no format");
      continue;
    }
    if (size < 16) return c.Error(absl::StrCat("bad format chunk of ", size, " bytes"));
    if (uint32_t kind = file.Number(2); kind != 1 && kind != 0xFFFE) {
      return c.Error(absl::StrCat("bad audio format ", kind, ", only PCM can be read"));
    }
    has = file.Number(2);
    rate = file.Number(4);
    file.Take(6);
    if (uint32_t bits = file.Number(2); bits != 16) {
      return c.Error(absl::StrCat("can only read 16-bit WAV files, but received ", bits));
    }
    file.Take(size - 16);
    break;
  }
  absl::string_view data;
  bool found = false;
  while (file.good() && !found && file.left() >= 8) {
    found = file.Tag("data");
    const uint32_t size = file.Number(4);
    data = file.Take(size);
  }
  if (!file.good() || !found) return c.Error("data is too short or missing");
  if (has == 0) return c.Error("the file has no channels");
  const int64_t there = static_cast<int64_t>(data.size()) / (2 * has);
  if (channels < 0) channels = has;
  if (samples < 0) samples = there;
  XC_ASSIGN_OR_RETURN(Tensor audio, c.Alloc(0, {samples, channels}));
  for (int64_t t = 0; t < std::min(samples, there); ++t) {
    for (int64_t k = 0; k < channels; ++k) {
      const char* at = data.data() + 2 * (t * has + std::min<int64_t>(k, has - 1));
      const auto sample = static_cast<int16_t>(static_cast<uint8_t>(at[0]) | static_cast<uint8_t>(at[1]) << 8);
      audio.data<float>()[t * channels + k] = static_cast<float>(sample) / kScale;
    }
  }
  c.outputs[0] = std::move(audio);
  c.outputs[1] = Tensor::Scalar<int32_t>(DT_INT32, static_cast<int32_t>(rate));
  return absl::OkStatus();
}

absl::Status EncodeWav(KernelContext& c) {
  const Tensor& audio = c.in(0);
  XC_ASSIGN_OR_RETURN(int64_t rate, c.Int(1));
  if (audio.rank() != 2) return c.Error("audio must be 2-dimensional");
  const int64_t channels = audio.dims()[1];
  if (channels < 1 || channels > 1024) return c.Error("channels must be from 1 to 1024");
  if (rate < 1) return c.Error("sample_rate must be positive");
  const int64_t bytes = 2 * audio.num_elements();
  if (audio.num_elements() < 1 || bytes > (int64_t{1} << 31)) return c.Error("audio is empty or too long for a file");
  std::string file;
  auto number = [&](int64_t v, int size) {
    for (int i = 0; i < size; ++i) file.push_back(static_cast<char>(v >> (8 * i) & 255));
  };
  file += "RIFF";
  number(36 + bytes, 4);
  file += "WAVEfmt ";
  number(16, 4);
  number(1, 2);
  number(channels, 2);
  number(rate, 4);
  number(rate * 2 * channels, 4);
  number(2 * channels, 2);
  number(16, 2);
  file += "data";
  number(bytes, 4);
  for (int64_t i = 0; i < audio.num_elements(); ++i) {
    const float sample = std::round(audio.data<float>()[i] * kScale);
    number(static_cast<int64_t>(std::isnan(sample) ? 0 : std::clamp(sample, -32768.0f, 32767.0f)), 2);
  }
  XC_ASSIGN_OR_RETURN(c.outputs[0], c.Alloc(0, {}));
  c.outputs[0].strings()[0] = std::move(file);
  return absl::OkStatus();
}

}  // namespace

void RegisterAudioKernels(KernelRegistry& r) {
  r.Add({"DecodeWav"}, DecodeWav, false);
  r.Add({"EncodeWav"}, EncodeWav, false);
}

}  // namespace xc
