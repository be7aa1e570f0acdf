// Host kernels that hash, split, match, join, encode and decode strings.
#include <algorithm>
#include <cstring>
#include <regex>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "jit/kernels/hashes.h"
#include "jit/kernels/kernel.h"

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
std::vector<std::string> Split(const std::string& s, const std::string& separator, int64_t limit) {
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
  for (const std::string& s : c.in(0).strings()) rows.push_back(Split(s, c.in(1).strings()[0], limit));
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

// The library's matcher recurses with the length of its text.
constexpr size_t kMaxMatched = 4096;

absl::StatusOr<std::regex> Pattern(KernelContext& c, const std::string& text) {
  if (text.size() > 512) return absl::UnimplementedError("so long a pattern");
  try {
    return std::regex(text, std::regex::ECMAScript | std::regex::optimize);
  } catch (const std::regex_error& e) {
    return c.Error(absl::StrCat("pattern '", text, "' is not supported: ", e.what()));
  }
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
  XC_ASSIGN_OR_RETURN(std::regex regex, Pattern(c, pattern));
  std::string format;  // \1 is a group, \\ a backslash; $ is plain
  for (size_t i = 0; i < rewrite.size(); ++i) {
    if (rewrite[i] == '$') {
      format += "$$";
    } else if (rewrite[i] != '\\') {
      format += rewrite[i];
    } else if (++i < rewrite.size() && absl::ascii_isdigit(static_cast<unsigned char>(rewrite[i]))) {
      format += rewrite[i] == '0' ? std::string("$&") : absl::StrCat("$0", rewrite.substr(i, 1));
    } else if (i < rewrite.size() && rewrite[i] == '\\') {
      format += '\\';
    } else {
      return c.Error("rewrite has a lone backslash");
    }
  }
  auto flags = global ? std::regex_constants::format_default : std::regex_constants::format_first_only;
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, c.in(0).dims()));
  for (int64_t i = 0; i < out.num_elements(); ++i) {
    const std::string& s = c.in(0).strings()[i];
    if (s.size() > kMaxMatched) return absl::UnimplementedError("so long a text to match");
    out.strings()[i] = std::regex_replace(s, regex, format, flags);
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
  XC_ASSIGN_OR_RETURN(std::regex regex, Pattern(c, pattern));
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, c.in(0).dims()));
  for (int64_t i = 0; i < out.num_elements(); ++i) {
    const std::string& s = c.in(0).strings()[i];
    if (s.size() > kMaxMatched) return absl::UnimplementedError("so long a text to match");
    out.data<uint8_t>()[i] = std::regex_match(s, regex);
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
  // Elements of one result stand in the order of the axes as they are given.
  std::vector<int64_t> order;
  for (int64_t d = 0; d < rank; ++d) {
    if (!reduced[d]) order.push_back(d);
  }
  order.insert(order.end(), axes.begin(), axes.end());
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
  std::vector<bool> seen(out.num_elements(), false);
  for (size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] >= segments) return c.Error(absl::StrCat("segment id ", ids[i], " is out of range"));
    for (int64_t k = 0; ids[i] >= 0 && k < width; ++k) {
      int64_t to = ids[i] * width + k;
      if (seen[to]) out.strings()[to] += separator;
      out.strings()[to] += c.in(0).strings()[static_cast<int64_t>(i) * width + k];
      seen[to] = true;
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

// Each string's bytes as numbers in one more dimension.
absl::Status DecodeRaw(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(bool little, c.node.Bool("little_endian"));
  const std::vector<std::string>& strings = c.in(0).strings();
  int64_t size = DataTypeSize(c.node.output_types[0]);
  size_t length = strings.empty() ? 0 : strings[0].size();
  if (size == 0) return c.Error("out_type has no bytes");
  if (length % size != 0)
    return c.Error(absl::StrCat("input to DecodeRaw has length ", length, " that is not a multiple of ", size));
  Dims dims = c.in(0).dims();
  dims.push_back(static_cast<int64_t>(length) / size);
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, dims));
  char* to = out.data<char>();
  for (const std::string& s : strings) {
    if (s.size() != length) return c.Error("the strings have different lengths");
    std::memcpy(to, s.data(), length);
    for (size_t i = 0; !little && i < length; i += size) std::reverse(to + i, to + i + size);
    to += length;
  }
  c.outputs[0] = std::move(out);
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
  r.Add({"DecodeRaw"}, DecodeRaw, false);
}

}  // namespace xc
