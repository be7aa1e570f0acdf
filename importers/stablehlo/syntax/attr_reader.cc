// Typed reading of attributes, in whichever of their forms they are written.
#include <algorithm>
#include <cmath>

#include "importers/stablehlo/lower/lowering.h"

namespace xc::stablehlo {
namespace {

using Kind = Attr::Kind;

// More integers than this in an attribute, given by one value for all, are a mistake.
constexpr int64_t kMaxInts = 1 << 16;

}  // namespace

void AttrReader::Fail(std::string message) {
  if (error_.empty()) error_ = std::move(message);
}

const Attr* AttrReader::Find(absl::string_view name) {
  used_.emplace_back(name);
  return FindAttr(attributes_, name);
}

const Attr* AttrReader::Require(absl::string_view name) {
  const Attr* attr = Find(name);
  if (attr == nullptr) Fail(absl::StrCat("attribute `", name, "` is missing"));
  return attr;
}

int64_t AttrReader::Int(absl::string_view name, std::optional<int64_t> missing) {
  if (missing && !Has(name)) return Find(name), *missing;
  const Attr* attr = Require(name);
  if (attr == nullptr) return 0;
  if (attr->kind == Kind::kInt) return attr->integer;
  if (attr->kind == Kind::kElements && attr->elements->size() == 1 && IsIntegral(attr->shape.type())) {
    return attr->elements->GetInt(0);
  }
  Fail(absl::StrCat("attribute `", name, "` should be an integer"));
  return 0;
}

bool AttrReader::Bool(absl::string_view name, std::optional<bool> missing) {
  if (missing && !Has(name)) return Find(name), *missing;
  const Attr* attr = Require(name);
  if (attr == nullptr) return false;
  if (attr->kind == Kind::kUnit) return true;  // only its being there says something
  if (attr->kind != Kind::kBool) Fail(absl::StrCat("attribute `", name, "` should be true or false"));
  return attr->integer != 0;
}

double AttrReader::Float(absl::string_view name) {
  const Attr* attr = Require(name);
  if (attr != nullptr && attr->kind != Kind::kFloat) Fail(absl::StrCat("attribute `", name, "` should be a number"));
  return attr != nullptr ? attr->number : 0;
}

Int64List AttrReader::Ints(absl::string_view name, std::optional<Int64List> missing) {
  if (missing && !Has(name)) return Find(name), *missing;
  const Attr* attr = Require(name);
  if (attr == nullptr) return {};
  if (attr->kind == Kind::kInts) return attr->ints;
  Int64List ints;
  if (attr->kind == Kind::kElements && attr->shape.rank() == 1 && attr->shape.ElementCount() <= kMaxInts &&
      (IsIntegral(attr->shape.type()) || attr->shape.type() == ElementType::kPred)) {
    const bool splat = attr->elements->size() != attr->shape.ElementCount();
    for (int64_t i = 0; i < attr->shape.ElementCount(); ++i) ints.push_back(attr->elements->GetInt(splat ? 0 : i));
    return ints;
  }
  if (attr->kind == Kind::kList && std::all_of(attr->items.begin(), attr->items.end(), [](const Attr& item) {
        return item.kind == Kind::kInt || item.kind == Kind::kBool;
      })) {
    for (const Attr& item : attr->items) ints.push_back(item.integer);
    return ints;
  }
  Fail(absl::StrCat("attribute `", name, "` should be a list of integers"));
  return {};
}

std::vector<Int64List> AttrReader::IntLists(absl::string_view name) {
  const Attr* attr = Require(name);
  if (attr == nullptr) return {};
  std::vector<Int64List> lists;
  if (attr->kind == Kind::kInts && attr->ints.empty()) return lists;
  if (attr->kind == Kind::kElements && attr->shape.rank() == 2 && IsIntegral(attr->shape.type()) &&
      attr->shape.ElementCount() <= std::max(kMaxInts, attr->elements->size()) && attr->shape.dim(0) <= kMaxInts) {
    const int64_t rows = attr->shape.dim(0), columns = attr->shape.dim(1);
    const bool splat = attr->elements->size() != rows * columns;
    for (int64_t i = 0; i < rows; ++i) {
      lists.emplace_back();
      for (int64_t j = 0; j < columns; ++j) {
        lists.back().push_back(attr->elements->GetInt(splat ? 0 : i * columns + j));
      }
    }
    return lists;
  }
  if (attr->kind == Kind::kList &&
      std::all_of(attr->items.begin(), attr->items.end(), [](const Attr& item) { return item.kind == Kind::kInts; })) {
    for (const Attr& item : attr->items) lists.push_back(item.ints);
    return lists;
  }
  Fail(absl::StrCat("attribute `", name, "` should be a list of lists of integers"));
  return {};
}

namespace {
// Nothing if the attribute is no word.
std::string WordOf(const Attr& attr) {
  switch (attr.kind) {
    case Kind::kWord:
    case Kind::kString:
    case Kind::kSymbol:
      return attr.text;
    case Kind::kDialect:
      return attr.items.empty() ? "" : attr.items.back().text;
    default:
      return "";
  }
}
}  // namespace

std::string AttrReader::Word(absl::string_view name, std::optional<std::string> missing) {
  if (missing && !Has(name)) return Find(name), *missing;
  const Attr* attr = Require(name);
  if (attr == nullptr) return "";
  std::string word = WordOf(*attr);
  if (word.empty()) Fail(absl::StrCat("attribute `", name, "` should be a word"));
  return word;
}

std::vector<std::string> AttrReader::Words(absl::string_view name) {
  std::vector<std::string> words;
  const Attr* attr = Find(name);
  if (attr == nullptr || (attr->kind == Kind::kInts && attr->ints.empty())) return words;
  for (const Attr& item : attr->items) words.push_back(WordOf(item));
  if (attr->kind != Kind::kList || std::find(words.begin(), words.end(), "") != words.end()) {
    Fail(absl::StrCat("attribute `", name, "` should be a list of words"));
  }
  return words;
}

const std::string* AttrReader::Unknown() const {
  for (const auto& [name, attr] : attributes_) {
    if (name.find('.') != std::string::npos) continue;
    if (!Used(name)) return &name;
  }
  return nullptr;
}

}  // namespace xc::stablehlo
