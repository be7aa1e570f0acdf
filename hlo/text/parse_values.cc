// Values of attributes, by type, but for shapes, literals, shardings and metadata.
#include <algorithm>
#include <charconv>

#include "absl/strings/str_cat.h"
#include "hlo/text/parser_impl.h"
#include "hlo/text/structure.h"

namespace xc {

bool Parser::Parse(bool* out) {
  if (lex_.AtName("true") || lex_.AtName("false")) {
    *out = lex_.AtName("true");
  } else if (lex_.tok().kind == Tok::kInt && (lex_.tok().text == "0" || lex_.tok().text == "1")) {
    *out = lex_.tok().text == "1";
  } else {
    return Expected("true or false");
  }
  lex_.Next();
  return true;
}

bool Parser::Parse(int64_t* out) {
  if (lex_.tok().kind != Tok::kInt) return Expected("an integer");
  const absl::string_view text = lex_.tok().text;
  const auto [stop, ec] = std::from_chars(text.data(), text.data() + text.size(), *out);
  if (ec != std::errc()) return Fail(lex_.position(), absl::StrCat(text, " does not fit into 64 bits"));
  lex_.Next();
  return true;
}

bool Parser::Parse(double* out) {
  const char* p = lex_.position();
  const auto [stop, ec] = std::from_chars(p, lex_.end(), *out);
  if (ec == std::errc::result_out_of_range) return Fail(p, "this number is out of range");
  if (ec != std::errc()) return Expected("a number");
  lex_.ContinueAt(stop);
  return true;
}

bool Parser::Parse(float* out) {
  const char* p = lex_.position();
  const auto [stop, ec] = std::from_chars(p, lex_.end(), *out);
  if (ec == std::errc::result_out_of_range) return Fail(p, "this number is out of range for f32");
  if (ec != std::errc()) return Expected("a number");
  lex_.ContinueAt(stop);
  return true;
}

bool Parser::Parse(std::string* out) {
  if (lex_.tok().kind != Tok::kString) return Expected("a string in quotes");
  *out = Unescape(lex_.tok().text);
  lex_.Next();
  return true;
}

bool Parser::ParseWord(std::string* out) {
  if (lex_.tok().kind != Tok::kName) return Expected("a word");
  *out = std::string(lex_.tok().text);
  lex_.Next();
  return true;
}

bool Parser::ParseRaw(std::string* out) {
  if (!lex_.At('{')) {
    const char* at = lex_.position();
    *out = std::string(lex_.RawWord());
    return !out->empty() || Fail(at, "expected text in braces");
  }
  const char* at = lex_.position();
  const absl::string_view text = lex_.RawBraces();
  if (text.empty()) return Fail(at, "this '{' has no matching '}'");
  *out = std::string(text);
  return true;
}

bool Parser::Parse(Int64List* out) {
  if (!Expect('{')) return false;
  while (!lex_.At('}')) {
    if (!Parse(&out->emplace_back())) return false;
    if (!Accept(',')) break;
  }
  return Expect('}');
}

bool Parser::Parse(std::vector<bool>* out) {
  if (!Expect('{')) return false;
  while (!lex_.At('}')) {
    bool value;
    if (!Parse(&value)) return false;
    out->push_back(value);
    if (!Accept(',')) break;
  }
  return Expect('}');
}

bool Parser::Parse(std::vector<Int64List>* out) {
  if (!Expect('{')) return false;
  while (!lex_.At('}')) {
    if (!Parse(&out->emplace_back())) return false;
    if (!Accept(',')) break;
  }
  return Expect('}');
}

bool Parser::Parse(StringList* out) {
  if (!Expect('{')) return false;
  while (!lex_.At('}')) {
    if (!ParseWord(&out->emplace_back())) return false;
    if (!Accept(',')) break;
  }
  return Expect('}');
}

template <typename T, size_t kCount>
bool Parser::ParseEnum(const std::pair<absl::string_view, T> (&names)[kCount], T* out) {
  if (lex_.tok().kind == Tok::kName) {
    for (const auto& [name, value] : names) {
      if (lex_.tok().text == name) {
        *out = value;
        lex_.Next();
        return true;
      }
    }
  }
  std::string all;
  for (const auto& [name, value] : names) absl::StrAppend(&all, all.empty() ? "" : ", ", name);
  return Expected(absl::StrCat("one of ", all));
}

#define XC_ENUM(T, ...)                                                      \
  bool Parser::Parse(T* out) {                                               \
    static constexpr std::pair<absl::string_view, T> kNames[] = __VA_ARGS__; \
    return ParseEnum(kNames, out);                                           \
  }
XC_ENUM(CompareDirection, {{"EQ", CompareDirection::kEq},
                           {"NE", CompareDirection::kNe},
                           {"GE", CompareDirection::kGe},
                           {"GT", CompareDirection::kGt},
                           {"LE", CompareDirection::kLe},
                           {"LT", CompareDirection::kLt}})
XC_ENUM(CompareType, {{"FLOAT", CompareType::kFloat},
                      {"TOTALORDER", CompareType::kTotalOrder},
                      {"SIGNED", CompareType::kSigned},
                      {"UNSIGNED", CompareType::kUnsigned}})
XC_ENUM(FusionKind, {{"kLoop", FusionKind::kLoop},
                     {"kInput", FusionKind::kInput},
                     {"kOutput", FusionKind::kOutput},
                     {"kCustom", FusionKind::kCustom}})
XC_ENUM(FftType,
        {{"FFT", FftType::kFft}, {"IFFT", FftType::kIfft}, {"RFFT", FftType::kRfft}, {"IRFFT", FftType::kIrfft}})
XC_ENUM(RandomDistribution, {{"rng_invalid", RandomDistribution::kInvalid},
                             {"rng_uniform", RandomDistribution::kUniform},
                             {"rng_normal", RandomDistribution::kNormal}})
XC_ENUM(RandomAlgorithm, {{"rng_default", RandomAlgorithm::kDefault},
                          {"rng_three_fry", RandomAlgorithm::kThreeFry},
                          {"rng_philox", RandomAlgorithm::kPhilox}})
XC_ENUM(TriangularTranspose, {{"TRANSPOSE_INVALID", TriangularTranspose::kInvalid},
                              {"NO_TRANSPOSE", TriangularTranspose::kNo},
                              {"TRANSPOSE", TriangularTranspose::kTranspose},
                              {"ADJOINT", TriangularTranspose::kAdjoint}})
#undef XC_ENUM

// {[0:4:2], [1:3]}
bool Parser::Parse(SliceAttr* out) {
  if (!Expect('{')) return false;
  while (!lex_.At('}')) {
    int64_t start, limit, stride = 1;
    if (!Expect('[') || !Parse(&start) || !Expect(':') || !Parse(&limit)) return false;
    if (Accept(':') && !Parse(&stride)) return false;
    if (!Expect(']')) return false;
    out->starts.push_back(start);
    out->limits.push_back(limit);
    out->strides.push_back(stride);
    if (!Accept(',')) break;
  }
  return Expect('}');
}

// {{0}: (0, {}), {1}: (2, {1}, may-alias)}; the kind is dropped.
bool Parser::Parse(OutputOperandAliasing* out) {
  if (!Expect('{')) return false;
  while (!lex_.At('}')) {
    OutputOperandAlias& alias = out->emplace_back();
    if (!ParseShapeIndex(&alias.output_index) || !Expect(':') || !Expect('(') || !Parse(&alias.operand) ||
        !Expect(',') || !ParseShapeIndex(&alias.operand_index)) {
      return false;
    }
    if (Accept(',')) {
      std::string kind;
      if (!ParseWord(&kind)) return false;
    }
    if (!Expect(')')) return false;
    if (!Accept(',')) break;
  }
  return Expect('}');
}

bool Parser::Parse(BackendConfig* out) {
  if (lex_.At('{')) {
    out->braces = true;
    return ParseRaw(&out->text);
  }
  if (!Parse(&out->text)) return false;
  out->braces = IsBraced(out->text);
  return true;
}

// {a="b",c={raw}}; a braced value keeps its braces.
bool Parser::Parse(FrontendAttributes* out) {
  if (!Expect('{')) return false;
  while (!lex_.At('}')) {
    auto& [key, value] = out->emplace_back();
    if (lex_.tok().kind == Tok::kString) {
      if (!Parse(&key)) return false;
    } else if (!ParseWord(&key)) {
      return false;
    }
    if (!Expect('=')) return false;
    if (lex_.At('{') ? !ParseRaw(&value) : !Parse(&value)) return false;
    if (!Accept(',')) break;
  }
  // The wire format has a map: in order of keys.
  std::stable_sort(out->begin(), out->end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return Expect('}');
}

// {visualizing_index=1,stat-1=33,stat-2=44.5}
bool Parser::Parse(Statistics* out) {
  if (!Expect('{')) return false;
  while (!lex_.At('}')) {
    std::string name;
    if (!ParseWord(&name) || !Expect('=')) return false;
    if (name == "visualizing_index") {
      if (!Parse(&out->visualizing_index)) return false;
    } else {
      double value;
      if (!Parse(&value)) return false;
      out->values.emplace_back(std::move(name), value);
    }
    if (!Accept(',')) break;
  }
  return Expect('}');
}

namespace {

// Splits "3x4x5" and reads each part with `read`, which moves its pointer on.
template <typename F>
bool ReadDims(absl::string_view word, const F& read) {
  const char* p = word.data();
  const char* end = p + word.size();
  if (p == end) return false;
  for (size_t i = 0;; ++i) {
    if (!read(i, p, end)) return false;
    if (p == end) return true;
    if (*p != 'x') return false;
    ++p;
  }
}

bool ReadInt(const char*& p, const char* end, int64_t* out) {
  const auto [stop, ec] = std::from_chars(p, end, *out);
  if (ec != std::errc()) return false;
  p = stop;
  return true;
}

}  // namespace

// 1_2x0_0_3: low_high[_interior] per dimension. A scalar's padding is empty.
bool Parser::Parse(PaddingAttr* out) {
  const char* at = lex_.position();
  if (lex_.At(',') || lex_.tok().kind == Tok::kName || lex_.tok().kind == Tok::kEof) return true;
  const absl::string_view word = lex_.RawWord();
  const bool ok = ReadDims(word, [&](size_t, const char*& p, const char* end) {
    PaddingDim& dim = out->dims.emplace_back();
    if (!ReadInt(p, end, &dim.low) || p == end || *p++ != '_' || !ReadInt(p, end, &dim.high)) return false;
    if (p < end && *p == '_') return ReadInt(++p, end, &dim.interior);
    return true;
  });
  return ok || Fail(at, "expected padding as LOW_HIGH or LOW_HIGH_INTERIOR for each dimension, joined by 'x'");
}

// {size=3x3 stride=2x2 pad=1_1x1_1 lhs_dilate=1x1 rhs_dilate=1x1 rhs_reversal=0x0}
bool Parser::Parse(WindowAttr* out) {
  if (!Expect('{')) return false;
  uint32_t seen = 0;
  const char* start = lex_.position();
  while (!lex_.At('}')) {
    const char* at = lex_.position();
    static constexpr absl::string_view kNames[] = {"size", "stride", "pad", "lhs_dilate", "rhs_dilate", "rhs_reversal"};
    size_t which = 0;
    while (which < 6 && !lex_.AtName(kNames[which])) ++which;
    if (which == 6) return Expected("size, stride, pad, lhs_dilate, rhs_dilate or rhs_reversal");
    if (seen & (1u << which)) return Fail(at, absl::StrCat("'", kNames[which], "' is given twice"));
    lex_.Next();
    if (!lex_.At('=')) return Expected("'='");
    lex_.Next();
    const char* value_at = lex_.position();
    const absl::string_view word = lex_.RawWord();
    size_t count = 0;
    const bool ok = ReadDims(word, [&](size_t i, const char*& p, const char* end) {
      count = i + 1;
      if (i >= out->dims.size()) {
        if (seen != 0) return false;
        out->dims.emplace_back();
      }
      WindowDim& dim = out->dims[i];
      int64_t value = 0;
      switch (which) {
        case 0:
          return ReadInt(p, end, &dim.size);
        case 1:
          return ReadInt(p, end, &dim.stride);
        case 2:
          return ReadInt(p, end, &dim.padding_low) && p < end && *p++ == '_' && ReadInt(p, end, &dim.padding_high);
        case 3:
          return ReadInt(p, end, &dim.base_dilation);
        case 4:
          return ReadInt(p, end, &dim.window_dilation);
        default:
          if (!ReadInt(p, end, &value) || value < 0 || value > 1) return false;
          dim.reversal = value == 1;
          return true;
      }
    });
    if (!ok || count != out->dims.size()) {
      return Fail(value_at, absl::StrCat("expected ", which == 2 ? "LOW_HIGH" : (which == 5 ? "0 or 1" : "a number"),
                                         " for each dimension of the window, joined by 'x'"));
    }
    seen |= 1u << which;
    Accept(',');
  }
  if (!out->dims.empty() && !(seen & 1)) return Fail(start, "a window needs 'size'");
  return Expect('}');
}

// b01f_01io->b01f
bool Parser::Parse(ConvDims* out) {
  const char* at = lex_.position();
  const absl::string_view word = lex_.RawWord();
  const size_t underscore = word.find('_');
  const size_t arrow = word.find("->");
  const auto fail = [&](absl::string_view why) {
    return Fail(at, absl::StrCat("expected dimension labels such as b01f_01io->b01f: ", why));
  };
  if (underscore == absl::string_view::npos || arrow == absl::string_view::npos || arrow < underscore) {
    return fail("an input, a kernel and an output part");
  }
  const absl::string_view parts[3] = {word.substr(0, underscore), word.substr(underscore + 1, arrow - underscore - 1),
                                      word.substr(arrow + 2)};
  const size_t rank = parts[0].size();
  if (rank < 2 || rank > 12 || parts[1].size() != rank || parts[2].size() != rank) {
    return fail("the three parts need the same number of dimensions, two at least and twelve at most");
  }
  struct {
    char first, second;
    int64_t *first_out, *second_out;
    Int64List* spatial;
  } const rules[3] = {{'b', 'f', &out->input_batch, &out->input_feature, &out->input_spatial},
                      {'i', 'o', &out->kernel_input_feature, &out->kernel_output_feature, &out->kernel_spatial},
                      {'b', 'f', &out->output_batch, &out->output_feature, &out->output_spatial}};
  for (int part = 0; part < 3; ++part) {
    rules[part].spatial->assign(rank - 2, -1);
    bool first = false, second = false;
    for (size_t i = 0; i < rank; ++i) {
      const char c = parts[part][i];
      if (c == rules[part].first && !first) {
        first = true;
        *rules[part].first_out = i;
      } else if (c == rules[part].second && !second) {
        second = true;
        *rules[part].second_out = i;
      } else if (c >= '0' && c < static_cast<char>('0' + rank - 2) && (*rules[part].spatial)[c - '0'] == -1) {
        (*rules[part].spatial)[c - '0'] = i;
      } else {
        return fail(
            absl::StrCat("'", std::string(1, c), "' does not belong at position ", i, " of '", parts[part], "'"));
      }
    }
  }
  return true;
}

}  // namespace xc
