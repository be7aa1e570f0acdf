// Host kernels that hash, split, match, join, encode and decode strings.
#include <algorithm>
#include <cstring>
#include <memory>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "jit/kernels/kernel.h"
#include "jit/kernels/text/hashes.h"
#include "re2/re2.h"

namespace xc {
namespace {

absl::Status ToHashBucket(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t buckets, c.node.Int("num_buckets"));
  if (buckets < 1) return c.Error("num_buckets must be at least 1");
  std::vector<int64_t> key = {0, 0};
  if (c.node.op == "StringToHashBucketStrong") {
    XC_ASSIGN_OR_RETURN(key, c.node.Ints("key"));
    if (key.size() != 2) return c.Error("key must have two elements");
  }
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, c.in(0).dims()));
  for (int64_t i = 0; i < out.num_elements(); ++i) {
    const std::string& s = c.in(0).strings()[i];
    uint64_t h = c.node.op == "StringToHashBucketFast"     ? FarmFingerprint64(s)
                 : c.node.op == "StringToHashBucketStrong" ? SipHash(key[0], key[1], s)
                                                           : MurmurHash64(s, 0xDECAFCAFFE);
    out.data<int64_t>()[i] = static_cast<int64_t>(h % static_cast<uint64_t>(buckets));
  }
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

// Pieces of `s`: between separators, or between stretches of white space if there is no separator. At most `limit`
// cuts, if that is positive.
std::vector<std::string> SplitText(const std::string& s, const std::string& separator, int64_t limit) {
  std::vector<std::string> out;
  if (limit == 0) return {s};
  size_t at = 0;
  if (!separator.empty()) {
    for (size_t next; (next = s.find(separator, at)) != std::string::npos; at = next + separator.size()) {
      if (limit > 0 && static_cast<int64_t>(out.size()) == limit) break;
      out.push_back(s.substr(at, next - at));
    }
    out.push_back(s.substr(at));
    return out;
  }
  auto skip = [&](bool space) {
    while (at < s.size() && absl::ascii_isspace(static_cast<unsigned char>(s[at])) == space) ++at;
  };
  skip(true);
  while (at < s.size()) {
    size_t start = at;
    skip(false);
    out.push_back(s.substr(start, at - start));
    skip(true);
    if (limit > 0 && static_cast<int64_t>(out.size()) == limit) {
      out.push_back(s.substr(at));
      break;
    }
  }
  return out;
}

// The pieces of each string as a sparse matrix: indices, values, shape.
absl::Status SetPieces(KernelContext& c, const std::vector<std::vector<std::string>>& rows) {
  int64_t total = 0, widest = 0;
  for (const auto& row : rows) {
    total += static_cast<int64_t>(row.size());
    widest = std::max(widest, static_cast<int64_t>(row.size()));
  }
  XC_ASSIGN_OR_RETURN(Tensor indices, c.Alloc(0, {total, 2}));
  XC_ASSIGN_OR_RETURN(Tensor values, c.Alloc(1, {total}));
  int64_t at = 0;
  for (size_t r = 0; r < rows.size(); ++r) {
    for (size_t k = 0; k < rows[r].size(); ++k, ++at) {
      indices.data<int64_t>()[2 * at] = static_cast<int64_t>(r);
      indices.data<int64_t>()[2 * at + 1] = static_cast<int64_t>(k);
      values.strings()[at] = rows[r][k];
    }
  }
  c.outputs = {std::move(indices), std::move(values), Tensor::Int64s({static_cast<int64_t>(rows.size()), widest})};
  return absl::OkStatus();
}

absl::Status SplitV2(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(int64_t limit, c.node.Int("maxsplit"));
  if (c.in(0).rank() != 1) return c.Error("input must be a vector");
  if (c.in(1).num_elements() != 1) return c.Error("sep must be a scalar");
  std::vector<std::vector<std::string>> rows;
  for (const std::string& s : c.in(0).strings()) rows.push_back(SplitText(s, c.in(1).strings()[0], limit));
  return SetPieces(c, rows);
}

// The first version cuts at any character of the delimiter, or between all characters if it is empty.
absl::Status SplitV1(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(bool skip_empty, c.node.Bool("skip_empty"));
  if (c.in(0).rank() != 1) return c.Error("input must be a vector");
  if (c.in(1).num_elements() != 1) return c.Error("delimiter must be a scalar");
  const std::string& delimiters = c.in(1).strings()[0];
  std::vector<std::vector<std::string>> rows;
  for (const std::string& s : c.in(0).strings()) {
    rows.emplace_back();
    if (delimiters.empty()) {
      for (char ch : s) rows.back().push_back(std::string(1, ch));
      continue;
    }
    std::string piece;
    for (size_t i = 0; i <= s.size(); ++i) {
      if (i < s.size() && delimiters.find(s[i]) == std::string::npos) {
        piece.push_back(s[i]);
        continue;
      }
      if (!(skip_empty && piece.empty()) && !s.empty()) rows.back().push_back(piece);
      piece.clear();
    }
  }
  return SetPieces(c, rows);
}

absl::StatusOr<std::unique_ptr<re2::RE2>> Pattern(KernelContext& c, const std::string& text) {
  re2::RE2::Options options;
  options.set_log_errors(false);
  auto regex = std::make_unique<re2::RE2>(text, options);
  if (!regex->ok()) return c.Error(absl::StrCat("Invalid pattern: ", text, ", error: ", regex->error()));
  return regex;
}

absl::Status RegexReplace(KernelContext& c) {
  bool fixed = c.node.op == "StaticRegexReplace";
  std::string pattern, rewrite;
  if (fixed) {
    XC_ASSIGN_OR_RETURN(pattern, c.node.String("pattern"));
    XC_ASSIGN_OR_RETURN(rewrite, c.node.String("rewrite"));
  } else {
    if (c.in(1).num_elements() != 1 || c.in(2).num_elements() != 1) return c.Error("pattern and rewrite are scalars");
    pattern = c.in(1).strings()[0];
    rewrite = c.in(2).strings()[0];
  }
  XC_ASSIGN_OR_RETURN(bool global, c.node.Bool("replace_global"));
  XC_ASSIGN_OR_RETURN(const std::unique_ptr<re2::RE2> regex, Pattern(c, pattern));
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, c.in(0).dims()));
  for (int64_t i = 0; i < out.num_elements(); ++i) {
    std::string& s = out.strings()[i] = c.in(0).strings()[i];
    if (global) {
      re2::RE2::GlobalReplace(&s, *regex, rewrite);
    } else {
      re2::RE2::Replace(&s, *regex, rewrite);
    }
  }
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

absl::Status RegexFullMatch(KernelContext& c) {
  std::string pattern;
  if (c.node.op == "StaticRegexFullMatch") {
    XC_ASSIGN_OR_RETURN(pattern, c.node.String("pattern"));
  } else {
    if (c.in(1).num_elements() != 1) return c.Error("pattern must be a scalar");
    pattern = c.in(1).strings()[0];
  }
  XC_ASSIGN_OR_RETURN(const std::unique_ptr<re2::RE2> regex, Pattern(c, pattern));
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, c.in(0).dims()));
  for (int64_t i = 0; i < out.num_elements(); ++i) {
    out.data<uint8_t>()[i] = re2::RE2::FullMatch(c.in(0).strings()[i], *regex);
  }
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

absl::Status ReduceJoin(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(std::string separator, c.node.String("separator"));
  XC_ASSIGN_OR_RETURN(bool keep, c.node.Bool("keep_dims"));
  XC_ASSIGN_OR_RETURN(auto axes, c.Ints(1));
  const Dims& dims = c.in(0).dims();
  int64_t rank = c.in(0).rank();
  std::vector<bool> reduced(rank, false);
  for (int64_t& a : axes) {
    XC_ASSIGN_OR_RETURN(a, c.Axis(a, rank));
    if (reduced[a]) return c.Error("a dimension is named twice");
    reduced[a] = true;
  }
  Dims out_dims;
  for (int64_t d = 0; d < rank; ++d) {
    if (!reduced[d] || keep) out_dims.push_back(reduced[d] ? 1 : dims[d]);
  }
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, out_dims));
  // Of the axes as they are given the first one varies fastest.
  std::vector<int64_t> order;
  for (int64_t d = 0; d < rank; ++d) {
    if (!reduced[d]) order.push_back(d);
  }
  order.insert(order.end(), axes.rbegin(), axes.rend());
  std::vector<int64_t> stride(rank, 1), at(rank, 0);
  for (int64_t d = rank - 2; d >= 0; --d) stride[d] = stride[d + 1] * dims[d + 1];
  int64_t per_result = 1;
  for (int64_t a : axes) per_result *= dims[a];
  for (int64_t i = 0; i < c.in(0).num_elements(); ++i) {
    int64_t from = 0;
    for (int64_t d = 0; d < rank; ++d) from += at[d] * stride[d];
    std::string& to = out.strings()[i / per_result];
    if (i % per_result > 0) to += separator;
    to += c.in(0).strings()[from];
    for (int64_t k = rank - 1; k >= 0 && ++at[order[k]] == dims[order[k]]; --k) at[order[k]] = 0;
  }
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

absl::Status UnsortedSegmentJoin(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(std::string separator, c.node.String("separator"));
  XC_ASSIGN_OR_RETURN(auto ids, c.Ints(1));
  XC_ASSIGN_OR_RETURN(int64_t segments, c.Int(2));
  const Dims& dims = c.in(0).dims();
  size_t covered = c.in(1).dims().size();
  if (covered > dims.size() || !std::equal(c.in(1).dims().begin(), c.in(1).dims().end(), dims.begin())) {
    return c.Error("the shape of segment_ids must start that of the input");
  }
  Dims out_dims = {segments};
  out_dims.insert(out_dims.end(), dims.begin() + covered, dims.end());
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, out_dims));
  int64_t width = ids.empty() ? 0 : c.in(0).num_elements() / static_cast<int64_t>(ids.size());
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= segments) return c.Error(absl::StrCat("segment id ", ids[i], " is out of range"));
    for (int64_t k = 0; ids[i] >= 0 && k < width; ++k) {
      int64_t to = ids[i] * width + k;
      if (!out.strings()[to].empty()) out.strings()[to] += separator;  // none after nothing, as with TensorFlow
      out.strings()[to] += c.in(0).strings()[static_cast<int64_t>(i) * width + k];
    }
  }
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

// Web-safe base64, padded when asked for.
absl::Status Base64(KernelContext& c) {
  bool encode = c.node.op == "EncodeBase64", pad = false;
  if (encode) {
    XC_ASSIGN_OR_RETURN(pad, c.node.Bool("pad"));
  }
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, c.in(0).dims()));
  for (int64_t i = 0; i < out.num_elements(); ++i) {
    const std::string& s = c.in(0).strings()[i];
    std::string& to = out.strings()[i];
    if (encode) {
      absl::WebSafeBase64Escape(s, &to);
      while (pad && to.size() % 4 != 0) to.push_back('=');
    } else if (!absl::WebSafeBase64Unescape(s, &to)) {
      return c.Error("invalid character found in base64");
    }
  }
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

// What a string of bytes means, and what stands for bytes that mean nothing.
struct Decoding {
  std::string errors;
  int32_t replacement = 0;
  bool replace_control = false;
};

absl::StatusOr<Decoding> ReadDecoding(KernelContext& c) {
  Decoding d;
  XC_ASSIGN_OR_RETURN(std::string encoding, c.node.String("input_encoding"));
  if (encoding != "UTF-8") return absl::UnimplementedError("encoding " + encoding);
  XC_ASSIGN_OR_RETURN(d.errors, c.node.String("errors"));
  XC_ASSIGN_OR_RETURN(int64_t replacement, c.node.Int("replacement_char"));
  d.replacement = static_cast<int32_t>(replacement);
  XC_ASSIGN_OR_RETURN(d.replace_control, c.node.Bool("replace_control_characters"));
  return d;
}

struct Character {
  int32_t code = 0;
  int64_t start = 0;
};

// The characters of UTF-8 text. A sequence that breaks off counts as one error.
absl::StatusOr<std::vector<Character>> DecodeUtf8(KernelContext& c, const Decoding& d, const std::string& s) {
  std::vector<Character> out;
  for (size_t i = 0; i < s.size();) {
    size_t start = i;
    unsigned char lead = s[i++];
    int more = lead < 0x80                   ? 0
               : lead >= 0xc2 && lead < 0xe0 ? 1
               : (lead & 0xf0) == 0xe0       ? 2
               : lead >= 0xf0 && lead < 0xf5 ? 3
                                             : -1;
    int32_t code = more == 0 ? lead : lead & (0x3f >> std::max(more, 0));
    bool good = more >= 0;
    for (int k = 0; good && k < more; ++k) {
      unsigned char next = i < s.size() ? s[i] : 0;
      // The second byte rules out what is too long, surrogates, and what is beyond the last character.
      unsigned char low = k > 0 ? 0x80 : lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
      unsigned char high = k > 0 ? 0xbf : lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
      good = next >= low && next <= high;
      if (good) code = (code << 6) | (s[i++] & 0x3f);
    }
    if (!good) {
      if (d.errors == "strict") return c.Error("invalid formatting on input string");
      if (d.errors == "ignore") continue;
      code = d.replacement;
    } else if (d.replace_control && code < 0x20) {
      if (d.errors == "ignore") continue;
      code = d.replacement;
    }
    out.push_back({code, static_cast<int64_t>(start)});
  }
  return out;
}

void AppendUtf8(int32_t code, std::string* out) {
  if (code < 0x80) {
    out->push_back(static_cast<char>(code));
    return;
  }
  int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  out->push_back(static_cast<char>((0xff00 >> (more + 1)) | (code >> (6 * more))));
  for (int k = more - 1; k >= 0; --k) out->push_back(static_cast<char>(0x80 | ((code >> (6 * k)) & 0x3f)));
}

absl::Status UnicodeDecode(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(Decoding d, ReadDecoding(c));
  std::vector<int64_t> splits = {0}, codes, starts;
  for (const std::string& s : c.in(0).strings()) {
    XC_ASSIGN_OR_RETURN(auto characters, DecodeUtf8(c, d, s));
    for (const Character& ch : characters) {
      codes.push_back(ch.code);
      starts.push_back(ch.start);
    }
    splits.push_back(static_cast<int64_t>(codes.size()));
  }
  c.outputs[0] = Tensor::Integers(c.node.output_types[0], splits);
  c.outputs[1] = Tensor::Int32s(codes);
  if (c.outputs.size() > 2) c.outputs[2] = Tensor::Int64s(starts);
  return absl::OkStatus();
}

absl::Status UnicodeEncode(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(std::string encoding, c.node.String("output_encoding"));
  XC_ASSIGN_OR_RETURN(std::string errors, c.node.String("errors"));
  XC_ASSIGN_OR_RETURN(int64_t replacement, c.node.Int("replacement_char"));
  if (encoding != "UTF-8") return absl::UnimplementedError("encoding " + encoding);
  XC_ASSIGN_OR_RETURN(auto codes, c.Ints(0));
  XC_ASSIGN_OR_RETURN(auto splits, c.Ints(1));
  if (splits.empty() || splits[0] != 0 || splits.back() != static_cast<int64_t>(codes.size()) ||
      !std::is_sorted(splits.begin(), splits.end())) {
    return c.Error("input_splits do not fit the values");
  }
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, {static_cast<int64_t>(splits.size()) - 1}));
  for (size_t r = 0; r + 1 < splits.size(); ++r) {
    for (int64_t i = splits[r]; i < splits[r + 1]; ++i) {
      bool good = codes[i] >= 0 && codes[i] <= 0x10ffff && (codes[i] < 0xd800 || codes[i] > 0xdfff);
      if (!good && errors == "strict") return c.Error("code point is out of range for Unicode, or a noncharacter");
      if (!good && errors == "ignore") continue;
      AppendUtf8(static_cast<int32_t>(good ? codes[i] : replacement), &out.strings()[r]);
    }
  }
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

absl::Status UnicodeTranscode(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(Decoding d, ReadDecoding(c));
  XC_ASSIGN_OR_RETURN(std::string encoding, c.node.String("output_encoding"));
  if (encoding != "UTF-8") return absl::UnimplementedError("encoding " + encoding);
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, c.in(0).dims()));
  for (int64_t i = 0; i < out.num_elements(); ++i) {
    XC_ASSIGN_OR_RETURN(auto characters, DecodeUtf8(c, d, c.in(0).strings()[i]));
    for (const Character& ch : characters) AppendUtf8(ch.code, &out.strings()[i]);
  }
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

// Stretches of `width` words of each row, which `pad` words on either side may widen.
absl::Status NGrams(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(std::string separator, c.node.String("separator"));
  XC_ASSIGN_OR_RETURN(auto widths, c.node.Ints("ngram_widths"));
  XC_ASSIGN_OR_RETURN(std::string left, c.node.String("left_pad"));
  XC_ASSIGN_OR_RETURN(std::string right, c.node.String("right_pad"));
  XC_ASSIGN_OR_RETURN(int64_t pad_width, c.node.Int("pad_width"));
  XC_ASSIGN_OR_RETURN(bool keep_short, c.node.Bool("preserve_short_sequences"));
  XC_ASSIGN_OR_RETURN(auto rows, c.Ints(1));
  const auto& words = c.in(0).strings();
  if (rows.empty() || rows[0] != 0 || rows.back() != static_cast<int64_t>(words.size()) ||
      !std::is_sorted(rows.begin(), rows.end())) {
    return c.Error("data_splits do not fit the data");
  }
  std::vector<std::string> grams;
  std::vector<int64_t> splits = {0};
  for (size_t r = 0; r + 1 < rows.size(); ++r) {
    int64_t length = rows[r + 1] - rows[r];
    // The gram of `width` words that starts at place `at` of the padded row.
    auto gram = [&](int64_t at, int64_t width, int64_t pad) {
      std::vector<std::string> parts;
      for (int64_t i = at - pad; i < at - pad + width; ++i) {
        parts.push_back(i < 0 ? left : i >= length ? right : words[rows[r] + i]);
      }
      return absl::StrJoin(parts, separator);
    };
    for (int64_t width : widths) {
      if (width < 1 || width > 4096) return c.Error("ngram_widths must be positive");
      int64_t pad = pad_width < 0 ? width - 1 : std::min(pad_width, width - 1);
      for (int64_t at = 0; at + width <= length + 2 * pad; ++at) grams.push_back(gram(at, width, pad));
    }
    if (keep_short && length > 0 && static_cast<int64_t>(grams.size()) == splits.back()) {
      int64_t pad = std::max<int64_t>(pad_width, 0);
      grams.push_back(gram(0, length + 2 * pad, pad));
    }
    splits.push_back(static_cast<int64_t>(grams.size()));
  }
  XC_ASSIGN_OR_RETURN(c.outputs[0], c.Alloc(0, {static_cast<int64_t>(grams.size())}));
  c.outputs[0].strings() = std::move(grams);
  c.outputs[1] = Tensor::Integers(c.node.output_types[1], splits);
  return absl::OkStatus();
}

}  // namespace

void RegisterTextKernels(KernelRegistry& r) {
  r.Add({"StringToHashBucket", "StringToHashBucketFast", "StringToHashBucketStrong"}, ToHashBucket, false);
  r.Add({"StringSplitV2"}, SplitV2, false);
  r.Add({"StringSplit"}, SplitV1, false);
  r.Add({"RegexReplace", "StaticRegexReplace"}, RegexReplace, false);
  r.Add({"RegexFullMatch", "StaticRegexFullMatch"}, RegexFullMatch, false);
  r.Add({"ReduceJoin"}, ReduceJoin, false);
  r.Add({"UnsortedSegmentJoin"}, UnsortedSegmentJoin, false);
  r.Add({"EncodeBase64", "DecodeBase64"}, Base64, false);
  r.Add({"UnicodeDecode", "UnicodeDecodeWithOffsets"}, UnicodeDecode, false);
  r.Add({"UnicodeEncode"}, UnicodeEncode, false);
  r.Add({"UnicodeTranscode"}, UnicodeTranscode, false);
  r.Add({"StringNGrams"}, NGrams, false);
}

}  // namespace xc
