// The registry of types that handlers keep states of, and states.
#include <limits>

#include "absl/strings/str_cat.h"
#include "backends/ffi/ffi.h"
#include "backends/ffi/internal.h"
#include "hlo/base/status.h"

namespace xc::ffi {
namespace {

struct TypeTable {
  std::mutex mu;
  std::map<std::string, int64_t, std::less<>> ids;
  std::map<int64_t, void (*)(void*)> deleters;
  // Far from the numbers that another registry in the process gives, with which a type may come here.
  int64_t next = int64_t{1} << 32;
};

TypeTable& Types() {
  static TypeTable* const types = new TypeTable;
  return *types;
}

}  // namespace

absl::Status RegisterType(absl::string_view name, int64_t* id, void (*deleter)(void*)) {
  if (name.empty() || id == nullptr)
    return absl::InvalidArgumentError("a type needs a name and a place for its number");
  TypeTable& types = Types();
  std::lock_guard<std::mutex> lock(types.mu);
  const auto known = types.ids.find(name);
  if (known != types.ids.end()) {
    if (*id != 0 && *id != known->second) {
      return absl::InvalidArgumentError(absl::StrCat("type ", name, " has the number ", known->second, ", not ", *id));
    }
    *id = known->second;
    return absl::OkStatus();
  }
  if (*id != 0 && types.deleters.count(*id) > 0) {
    return absl::InvalidArgumentError(absl::StrCat("the number ", *id, " of type ", name, " is another type's"));
  }
  if (*id == 0) {
    while (types.deleters.count(types.next) > 0) ++types.next;
    *id = types.next;
  }
  types.ids.emplace(std::string(name), *id);
  types.deleters[*id] = deleter;
  return absl::OkStatus();
}

absl::StatusOr<void (*)(void*)> DeleterOf(TypeId type) {
  TypeTable& types = Types();
  std::lock_guard<std::mutex> lock(types.mu);
  const auto it = types.deleters.find(type.value);
  if (it == types.deleters.end()) {
    return absl::InvalidArgumentError(absl::StrCat("no type with the number ", type.value, " is registered"));
  }
  return it->second;
}

State::~State() {
  if (object_ != nullptr && deleter_ != nullptr) deleter_(object_);
}

absl::Status State::Set(TypeId type, void* object) {
  if (object_ != nullptr) return absl::FailedPreconditionError("the state is set already");
  if (object == nullptr) return absl::InvalidArgumentError("the state is null");
  XC_ASSIGN_OR_RETURN(deleter_, DeleterOf(type));
  type_ = type;
  object_ = object;
  return absl::OkStatus();
}

absl::StatusOr<void*> State::Get(TypeId type) const {
  if (object_ == nullptr) return absl::NotFoundError("no state is set");
  if (type.value != type_.value) {
    return absl::InvalidArgumentError(
        absl::StrCat("the state is of type ", type_.value, ", and was asked for as type ", type.value));
  }
  return object_;
}

}  // namespace xc::ffi
