// Host kernels for arithmetic on small tensors (shapes, counters, loop conditions). Real types go through double or
// int64, which is exact for these operations in every narrower type.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "absl/strings/str_cat.h"
#include "jit/kernels/kernel.h"

namespace xc {
namespace {

// A tensor's elements as int64 or, for floating types, double.
struct Numbers {
  bool floating = false;
  std::vector<int64_t> ints;
  std::vector<double> doubles;
};

absl::StatusOr<Numbers> Load(const Tensor& t) {
  Numbers n;
  n.floating = IsFloating(t.dtype());
  if (n.floating) {
    XC_ASSIGN_OR_RETURN(n.doubles, t.AsDoubles());
  } else {
    XC_ASSIGN_OR_RETURN(n.ints, t.AsInt64s());
  }
  return n;
}

int64_t FloorDivInt(int64_t a, int64_t b) {
  if (b == -1) return static_cast<int64_t>(0 - static_cast<uint64_t>(a));
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
int64_t FloorModInt(int64_t a, int64_t b) {
  if (b == -1) return 0;
  int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
double FloorModDouble(double a, double b) {
  double r = std::fmod(a, b);
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
int64_t Wrap(uint64_t v) { return static_cast<int64_t>(v); }

using IntFn = int64_t (*)(int64_t, int64_t);
using DoubleFn = double (*)(double, double);
struct BinaryRow {
  const char* op;
  IntFn ints;
  DoubleFn doubles;
  bool divides;
};
const BinaryRow kBinary[] = {
    {"Add", [](int64_t a, int64_t b) { return Wrap(uint64_t(a) + uint64_t(b)); },
     [](double a, double b) { return a + b; }, false},
    {"AddV2", [](int64_t a, int64_t b) { return Wrap(uint64_t(a) + uint64_t(b)); },
     [](double a, double b) { return a + b; }, false},
    {"Sub", [](int64_t a, int64_t b) { return Wrap(uint64_t(a) - uint64_t(b)); },
     [](double a, double b) { return a - b; }, false},
    {"Mul", [](int64_t a, int64_t b) { return Wrap(uint64_t(a) * uint64_t(b)); },
     [](double a, double b) { return a * b; }, false},
    {"Maximum", [](int64_t a, int64_t b) { return std::max(a, b); },
     [](double a, double b) { return std::isnan(a)            ? a
                                     : a < b || std::isnan(b) ? b
                                                              : a; }, false},
    {"Minimum", [](int64_t a, int64_t b) { return std::min(a, b); },
     [](double a, double b) { return std::isnan(a)            ? a
                                     : b < a || std::isnan(b) ? b
                                                              : a; }, false},
    {"FloorDiv", FloorDivInt, [](double a, double b) { return std::floor(a / b); }, true},
    {"FloorMod", FloorModInt, FloorModDouble, true},
    {"RealDiv", nullptr, [](double a, double b) { return a / b; }, false},
    {"Div", [](int64_t a, int64_t b) { return b == -1 ? Wrap(0 - uint64_t(a)) : a / b; },
     [](double a, double b) { return a / b; }, true},
    {"TruncateDiv", [](int64_t a, int64_t b) { return b == -1 ? Wrap(0 - uint64_t(a)) : a / b; }, nullptr, true},
    {"TruncateMod", [](int64_t a, int64_t b) { return b == -1 ? 0 : a % b; },
     [](double a, double b) { return std::fmod(a, b); }, true},
    {"Mod", [](int64_t a, int64_t b) { return b == -1 ? 0 : a % b; },
     [](double a, double b) { return std::fmod(a, b); }, true},
};

using CompareInt = bool (*)(int64_t, int64_t);
using CompareDouble = bool (*)(double, double);
struct CompareRow {
  const char* op;
  CompareInt ints;
  CompareDouble doubles;
};
const CompareRow kCompare[] = {
    {"Less", [](int64_t a, int64_t b) { return a < b; }, [](double a, double b) { return a < b; }},
    {"LessEqual", [](int64_t a, int64_t b) { return a <= b; }, [](double a, double b) { return a <= b; }},
    {"Greater", [](int64_t a, int64_t b) { return a > b; }, [](double a, double b) { return a > b; }},
    {"GreaterEqual", [](int64_t a, int64_t b) { return a >= b; }, [](double a, double b) { return a >= b; }},
    {"Equal", [](int64_t a, int64_t b) { return a == b; }, [](double a, double b) { return a == b; }},
    {"NotEqual", [](int64_t a, int64_t b) { return a != b; }, [](double a, double b) { return a != b; }},
    {"LogicalAnd", [](int64_t a, int64_t b) { return a && b; }, nullptr},
    {"LogicalOr", [](int64_t a, int64_t b) { return a || b; }, nullptr},
};

// Calls fn(to, index in a, index in b) for every element of the broadcast shape.
void ForBroadcast(const Dims& a, const Dims& b, const Dims& out,
                  const std::function<void(int64_t, int64_t, int64_t)>& fn) {
  std::vector<int64_t> sa(out.size(), 0), sb(out.size(), 0);
  int64_t n = 1, step = 1;
  for (size_t i = 0; i < a.size(); ++i) {
    size_t d = a.size() - 1 - i;
    sa[out.size() - 1 - i] = a[d] == 1 ? 0 : step;
    step *= a[d];
  }
  step = 1;
  for (size_t i = 0; i < b.size(); ++i) {
    size_t d = b.size() - 1 - i;
    sb[out.size() - 1 - i] = b[d] == 1 ? 0 : step;
    step *= b[d];
  }
  for (int64_t d : out) n *= d;
  std::vector<int64_t> index(out.size(), 0);
  int64_t ia = 0, ib = 0;
  for (int64_t to = 0; to < n; ++to) {
    fn(to, ia, ib);
    for (int d = static_cast<int>(out.size()) - 1; d >= 0; --d) {
      ia += sa[d];
      ib += sb[d];
      if (++index[d] < out[d]) break;
      ia -= sa[d] * out[d];
      ib -= sb[d] * out[d];
      index[d] = 0;
    }
  }
}

absl::Status NoKernel(const KernelContext& c) {
  return absl::UnimplementedError(absl::StrCat("no host kernel for ", c.node.op, " on these types"));
}

absl::Status Binary(KernelContext& c) {
  const BinaryRow* row = nullptr;
  for (const BinaryRow& r : kBinary) {
    if (c.node.op == r.op) row = &r;
  }
  DataType type = c.in(0).dtype();
  if (type == DT_UINT64 || !(IsInteger(type) || IsFloating(type))) return NoKernel(c);
  if (IsFloating(type) ? row->doubles == nullptr : row->ints == nullptr) return NoKernel(c);
  auto dims = BroadcastDims(c.in(0).dims(), c.in(1).dims());
  if (!dims.ok()) return c.Error(std::string(dims.status().message()));
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, *dims));
  XC_ASSIGN_OR_RETURN(Numbers a, Load(c.in(0)));
  XC_ASSIGN_OR_RETURN(Numbers b, Load(c.in(1)));
  bool zero = false;
  ForBroadcast(c.in(0).dims(), c.in(1).dims(), *dims, [&](int64_t to, int64_t i, int64_t j) {
    if (a.floating) {
      StoreDouble(out, to, row->doubles(a.doubles[i], b.doubles[j]));
    } else if (row->divides && b.ints[j] == 0) {
      zero = true;
    } else {
      StoreInt(out, to, row->ints(a.ints[i], b.ints[j]));
    }
  });
  if (zero) return c.Error("integer division by zero");
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

absl::Status Compare(KernelContext& c) {
  const CompareRow* row = nullptr;
  for (const CompareRow& r : kCompare) {
    if (c.node.op == r.op) row = &r;
  }
  auto dims = BroadcastDims(c.in(0).dims(), c.in(1).dims());
  if (!dims.ok()) return c.Error(std::string(dims.status().message()));
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, *dims));
  if (c.in(0).dtype() == DT_STRING) {
    if (c.node.op != "Equal" && c.node.op != "NotEqual") return NoKernel(c);
    bool want = c.node.op == "Equal";
    ForBroadcast(c.in(0).dims(), c.in(1).dims(), *dims, [&](int64_t to, int64_t i, int64_t j) {
      out.data<uint8_t>()[to] = (c.in(0).strings()[i] == c.in(1).strings()[j]) == want;
    });
    c.outputs[0] = std::move(out);
    return absl::OkStatus();
  }
  DataType type = c.in(0).dtype();
  if (type == DT_UINT64 || !(IsInteger(type) || IsFloating(type) || type == DT_BOOL)) return NoKernel(c);
  XC_ASSIGN_OR_RETURN(Numbers a, Load(c.in(0)));
  XC_ASSIGN_OR_RETURN(Numbers b, Load(c.in(1)));
  if (a.floating && row->doubles == nullptr) return NoKernel(c);
  ForBroadcast(c.in(0).dims(), c.in(1).dims(), *dims, [&](int64_t to, int64_t i, int64_t j) {
    out.data<uint8_t>()[to] = a.floating ? row->doubles(a.doubles[i], b.doubles[j]) : row->ints(a.ints[i], b.ints[j]);
  });
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

absl::Status LogicalNot(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, c.in(0).dims()));
  for (int64_t i = 0; i < out.num_elements(); ++i) out.data<uint8_t>()[i] = !c.in(0).data<uint8_t>()[i];
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

absl::Status UnaryKernel(KernelContext& c) {
  DataType type = c.in(0).dtype();
  if (!(IsSignedInteger(type) || IsFloating(type))) return NoKernel(c);
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, c.in(0).dims()));
  XC_ASSIGN_OR_RETURN(Numbers a, Load(c.in(0)));
  const std::string& op = c.node.op;
  for (int64_t i = 0; i < out.num_elements(); ++i) {
    if (a.floating) {
      double x = a.doubles[i];
      double y = op == "Neg"     ? -x
                 : op == "Abs"   ? std::fabs(x)
                 : op == "Floor" ? std::floor(x)
                 : op == "Ceil"  ? std::ceil(x)
                 : op == "Sqrt"  ? std::sqrt(x)
                                 : x * x;
      StoreDouble(out, i, y);
    } else {
      int64_t x = a.ints[i];
      if (op == "Sqrt") return NoKernel(c);
      int64_t y = op == "Neg"                     ? Wrap(0 - uint64_t(x))
                  : op == "Abs"                   ? (x < 0 ? Wrap(0 - uint64_t(x)) : x)
                  : op == "Floor" || op == "Ceil" ? x
                                                  : Wrap(uint64_t(x) * uint64_t(x));
      StoreInt(out, i, y);
    }
  }
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

absl::Status Cast(KernelContext& c) {
  DataType from = c.in(0).dtype(), to = c.node.output_types[0];
  auto plain = [](DataType t) { return IsInteger(t) || IsFloating(t) || t == DT_BOOL; };
  if (!plain(from) || !plain(to) || from == DT_UINT64) return NoKernel(c);
  XC_ASSIGN_OR_RETURN(bool truncate, c.node.Bool("Truncate"));
  if (truncate) return NoKernel(c);
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, c.in(0).dims()));
  XC_ASSIGN_OR_RETURN(Numbers a, Load(c.in(0)));
  for (int64_t i = 0; i < out.num_elements(); ++i) {
    if (to == DT_BOOL) {
      out.data<uint8_t>()[i] = a.floating ? a.doubles[i] != 0 : a.ints[i] != 0;
    } else if (IsFloating(to)) {
      // int64 to float rounds once.
      if (!a.floating && to == DT_FLOAT) {
        out.data<float>()[i] = static_cast<float>(a.ints[i]);
      } else {
        StoreDouble(out, i, a.floating ? a.doubles[i] : static_cast<double>(a.ints[i]));
      }
    } else if (a.floating) {
      double v = a.doubles[i];
      if (!(v > -9.2e18 && v < 9.2e18)) return NoKernel(c);
      StoreInt(out, i, static_cast<int64_t>(v));
    } else {
      StoreInt(out, i, a.ints[i]);
    }
  }
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

absl::Status Select(KernelContext& c) {
  bool v2 = c.node.op == "SelectV2";
  Dims dims = c.in(1).dims();
  if (v2) {
    auto d = BroadcastDims(c.in(1).dims(), c.in(2).dims());
    if (d.ok()) d = BroadcastDims(*d, c.in(0).dims());
    if (!d.ok()) return c.Error(std::string(d.status().message()));
    dims = *d;
  } else if (c.in(1).dims() != c.in(2).dims()) {
    return c.Error("both sides must have one shape");
  }
  bool row_condition = !v2 && c.in(0).rank() == 1 && c.in(1).rank() > 1;
  if (!v2 && !row_condition && c.in(0).rank() != 0 && c.in(0).dims() != dims) return c.Error("condition does not fit");
  if (row_condition && c.in(0).dims()[0] != dims[0]) return c.Error("condition does not fit");
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, dims));
  int64_t inner = row_condition && dims[0] > 0 ? out.num_elements() / dims[0] : 1;
  std::vector<int64_t> at(out.num_elements()), bt(out.num_elements());
  ForBroadcast(c.in(1).dims(), c.in(2).dims(), dims, [&](int64_t to, int64_t i, int64_t j) {
    at[to] = i;
    bt[to] = j;
  });
  ForBroadcast(row_condition ? dims : c.in(0).dims(), {}, dims, [&](int64_t to, int64_t i, int64_t) {
    bool yes = c.in(0).data<uint8_t>()[row_condition ? to / inner : i];
    CopyElement(c.in(yes ? 1 : 2), yes ? at[to] : bt[to], out, to);
  });
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

absl::Status Range(KernelContext& c) {
  XC_ASSIGN_OR_RETURN(Numbers start, Load(c.in(0)));
  XC_ASSIGN_OR_RETURN(Numbers limit, Load(c.in(1)));
  XC_ASSIGN_OR_RETURN(Numbers delta, Load(c.in(2)));
  for (int i = 0; i < 3; ++i) {
    if (c.in(i).num_elements() != 1) return c.Error("start, limit and delta must be scalars");
  }
  if (start.floating) {
    double a = start.doubles[0], b = limit.doubles[0], d = delta.doubles[0];
    if (d == 0 || (d > 0 ? a > b : a < b)) return c.Error("the range is not reached with this delta");
    double count = std::ceil(std::fabs((b - a) / d));
    if (!(count < 1e10)) return c.Error("the range is too long");
    XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, {static_cast<int64_t>(count)}));
    double v = a;
    for (int64_t i = 0; i < out.num_elements(); ++i) {
      // Steps accumulate in the element type, as TensorFlow's kernel does.
      StoreDouble(out, i, v);
      v = out.dtype() == DT_DOUBLE ? v + d : static_cast<double>(static_cast<float>(v) + static_cast<float>(d));
    }
    c.outputs[0] = std::move(out);
    return absl::OkStatus();
  }
  __int128 a = start.ints[0], b = limit.ints[0], d = delta.ints[0];
  if (d == 0 || (d > 0 ? a > b : a < b)) return c.Error("the range is not reached with this delta");
  __int128 count = d > 0 ? (b - a + d - 1) / d : (a - b - d - 1) / -d;
  if (count > (int64_t{1} << 40)) return c.Error("the range is too long");
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, {static_cast<int64_t>(count)}));
  for (int64_t i = 0; i < out.num_elements(); ++i) StoreInt(out, i, static_cast<int64_t>(a + d * i));
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

// Sum, Prod, Max, Min of integers, All and Any.
absl::Status ReduceKernel(KernelContext& c) {
  DataType type = c.in(0).dtype();
  if (type == DT_UINT64 || !(IsInteger(type) || type == DT_BOOL)) return NoKernel(c);
  XC_ASSIGN_OR_RETURN(auto axes, c.Ints(1));
  XC_ASSIGN_OR_RETURN(bool keep, c.node.Bool("keep_dims"));
  const Dims& from = c.in(0).dims();
  std::vector<bool> reduced(from.size(), false);
  for (int64_t a : axes) {
    XC_ASSIGN_OR_RETURN(a, c.Axis(a, c.in(0).rank()));
    if (reduced[a]) return c.Error("an axis is given twice");
    reduced[a] = true;
  }
  Dims dims;
  std::vector<int64_t> steps(from.size(), 0);
  int64_t step = 1;
  for (int d = static_cast<int>(from.size()) - 1; d >= 0; --d) {
    if (reduced[d]) continue;
    steps[d] = step;
    step *= from[d];
  }
  for (size_t d = 0; d < from.size(); ++d) {
    if (!reduced[d]) {
      dims.push_back(from[d]);
    } else if (keep) {
      dims.push_back(1);
    }
  }
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, dims));
  XC_ASSIGN_OR_RETURN(Numbers a, Load(c.in(0)));
  const std::string& op = c.node.op;
  int64_t first = op == "Prod" || op == "All" ? 1 : 0;
  if ((op == "Max" || op == "Min") && a.ints.empty() && out.num_elements() > 0) return NoKernel(c);
  std::vector<int64_t> acc(out.num_elements(), first);
  std::vector<bool> started(out.num_elements(), false);
  std::vector<int64_t> index(from.size(), 0);
  for (size_t i = 0; i < a.ints.size(); ++i) {
    int64_t to = 0, rest = static_cast<int64_t>(i);
    for (int d = static_cast<int>(from.size()) - 1; d >= 0; --d) {
      to += rest % from[d] * steps[d];
      rest /= from[d];
    }
    int64_t v = a.ints[i];
    if (op == "Sum") acc[to] = Wrap(uint64_t(acc[to]) + uint64_t(v));
    if (op == "Prod") acc[to] = Wrap(uint64_t(acc[to]) * uint64_t(v));
    if (op == "All") acc[to] = acc[to] && v;
    if (op == "Any") acc[to] = acc[to] || v;
    if (op == "Max") acc[to] = started[to] ? std::max(acc[to], v) : v;
    if (op == "Min") acc[to] = started[to] ? std::min(acc[to], v) : v;
    started[to] = true;
  }
  for (size_t i = 0; i < acc.size(); ++i) StoreInt(out, i, acc[i]);
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

absl::Status AddN(KernelContext& c) {
  if (c.in(0).dtype() == DT_VARIANT) {
    XC_ASSIGN_OR_RETURN(c.outputs[0], AddLists(c.inputs));
    return absl::OkStatus();
  }
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, c.in(0).dims()));
  XC_ASSIGN_OR_RETURN(Numbers acc, Load(c.in(0)));
  if (acc.floating) return NoKernel(c);
  for (int i = 1; i < c.num_inputs(); ++i) {
    if (c.in(i).dims() != c.in(0).dims()) return c.Error("inputs differ in shape");
    XC_ASSIGN_OR_RETURN(Numbers b, Load(c.in(i)));
    for (size_t k = 0; k < acc.ints.size(); ++k) acc.ints[k] = Wrap(uint64_t(acc.ints[k]) + uint64_t(b.ints[k]));
  }
  for (size_t k = 0; k < acc.ints.size(); ++k) StoreInt(out, k, acc.ints[k]);
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

absl::Status OnesLike(KernelContext& c) {
  DataType type = c.node.output_types[0];
  if (!(IsInteger(type) || IsFloating(type) || type == DT_BOOL)) return NoKernel(c);
  XC_ASSIGN_OR_RETURN(Tensor out, c.Alloc(0, c.in(0).dims()));
  for (int64_t i = 0; i < out.num_elements(); ++i) {
    if (IsFloating(type)) {
      StoreDouble(out, i, 1);
    } else {
      StoreInt(out, i, 1);
    }
  }
  c.outputs[0] = std::move(out);
  return absl::OkStatus();
}

template <typename T>
void AddAs(Tensor& to, const Tensor& from) {
  int64_t n = from.num_elements() * DataTypeSize(from.dtype()) / static_cast<int64_t>(sizeof(T));
  for (int64_t i = 0; i < n; ++i) to.data<T>()[i] += from.data<T>()[i];
}

}  // namespace

absl::StatusOr<Tensor> AddTensors(const Tensor& a, const Tensor& b) {
  if (a.dims() != b.dims() || a.dtype() != b.dtype() || a.raw() == nullptr)
    return absl::InvalidArgumentError(absl::StrCat("a sum of ", a.ShapeString(), " and ", b.ShapeString()));
  XC_ASSIGN_OR_RETURN(Tensor sum, Tensor::Create(a.dtype(), a.dims()));
  std::memcpy(sum.raw(), a.raw(), a.byte_size());
  switch (a.dtype()) {
    case DT_FLOAT:
    case DT_COMPLEX64:
      AddAs<float>(sum, b);
      break;
    case DT_DOUBLE:
    case DT_COMPLEX128:
      AddAs<double>(sum, b);
      break;
    case DT_INT32:
      AddAs<uint32_t>(sum, b);
      break;
    case DT_INT64:
      AddAs<uint64_t>(sum, b);
      break;
    case DT_HALF:
      for (int64_t i = 0; i < b.num_elements(); ++i) {
        uint16_t& to = sum.data<uint16_t>()[i];
        to = FloatToHalf(HalfToFloat(to) + HalfToFloat(b.data<uint16_t>()[i]));
      }
      break;
    case DT_BFLOAT16:
      for (int64_t i = 0; i < b.num_elements(); ++i) {
        uint16_t& to = sum.data<uint16_t>()[i];
        to = FloatToBfloat16(Bfloat16ToFloat(to) + Bfloat16ToFloat(b.data<uint16_t>()[i]));
      }
      break;
    default:
      return absl::UnimplementedError(absl::StrCat("sums of ", DataTypeName(a.dtype())));
  }
  return sum;
}

void RegisterArithmeticKernels(KernelRegistry& r) {
  for (const BinaryRow& row : kBinary) r.Add({row.op}, Binary, true);
  for (const CompareRow& row : kCompare) r.Add({row.op}, Compare, true);
  r.Add({"LogicalNot"}, LogicalNot, true);
  r.Add({"Neg", "Abs", "Floor", "Ceil", "Square", "Sqrt"}, UnaryKernel, true);
  r.Add({"Cast"}, Cast, true);
  r.Add({"Select", "SelectV2"}, Select, true);
  r.Add({"Range"}, Range, true);
  r.Add({"Sum", "Prod", "Max", "Min", "All", "Any"}, ReduceKernel, true);
  r.Add({"AddN"}, AddN, true);
  r.Add({"OnesLike"}, OnesLike, true);
}

}  // namespace xc
