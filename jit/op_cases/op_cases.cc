#include "jit/op_cases/op_cases.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/gzip_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>

#include <cmath>
#include <complex>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "hlo/base/read_file.h"
#include "hlo/base/status.h"

namespace xc {
namespace {

namespace io = google::protobuf::io;

// The last node of a recorded graph holds the rest of the case.
absl::StatusOr<OpCase> TakeApart(GraphDef graph) {
  if (graph.node_size() == 0 || graph.node().rbegin()->op() != "_Case") {
    return absl::InvalidArgumentError("a graph without a case");
  }
  const auto attrs = graph.node().rbegin()->attr();
  OpCase out;
  out.op = attrs.at("op").s();
  out.name = attrs.at("name").s();
  out.compiled = attrs.at("compiled").b();
  for (const std::string& name : attrs.at("feeds").list().s()) {
    XC_ASSIGN_OR_RETURN(Tensor t, Tensor::FromProto(attrs.at(absl::StrCat("feed_", out.feeds.size())).tensor()));
    out.feeds.push_back(name);
    out.inputs.push_back(std::move(t));
  }
  for (const std::string& name : attrs.at("fetches").list().s()) {
    XC_ASSIGN_OR_RETURN(Tensor t, Tensor::FromProto(attrs.at(absl::StrCat("want_", out.fetches.size())).tensor()));
    out.fetches.push_back(name);
    out.wanted.push_back(std::move(t));
  }
  graph.mutable_node()->RemoveLast();
  out.graph = std::move(graph);
  return out;
}

double Tolerance(DataType type) {
  switch (type) {
    case DT_DOUBLE:
    case DT_COMPLEX128:
      return 1e-6;
    case DT_HALF:
      return 4e-3;
    case DT_BFLOAT16:
      return 2e-2;
    default:
      return 2e-4;
  }
}

// The elements of an array of floating-point or complex numbers.
absl::StatusOr<std::vector<std::complex<double>>> Numbers(const Tensor& t) {
  std::vector<std::complex<double>> out;
  if (t.dtype() == DT_COMPLEX64) {
    const auto* v = t.data<std::complex<float>>();
    out.assign(v, v + t.num_elements());
  } else if (t.dtype() == DT_COMPLEX128) {
    const auto* v = t.data<std::complex<double>>();
    out.assign(v, v + t.num_elements());
  } else {
    XC_ASSIGN_OR_RETURN(std::vector<double> v, t.AsDoubles());
    out.assign(v.begin(), v.end());
  }
  return out;
}

bool IsNan(std::complex<double> v) { return std::isnan(v.real()) || std::isnan(v.imag()); }
bool IsFinite(std::complex<double> v) { return std::isfinite(v.real()) && std::isfinite(v.imag()); }

}  // namespace

absl::StatusOr<std::vector<OpCase>> ReadOpCases(const std::string& path) {
  XC_ASSIGN_OR_RETURN(const std::string packed, ReadFile(path));
  io::ArrayInputStream bytes(packed.data(), static_cast<int>(packed.size()));
  io::GzipInputStream unpacked(&bytes, io::GzipInputStream::GZIP);
  io::CodedInputStream in(&unpacked);
  std::vector<OpCase> cases;
  uint32_t size = 0;
  while (in.ReadLittleEndian32(&size)) {
    std::string text;
    GraphDef graph;
    if (!in.ReadString(&text, static_cast<int>(size)) || !graph.ParseFromString(text)) {
      return absl::DataLossError(absl::StrCat(path, ": case ", cases.size(), " cannot be read"));
    }
    XC_ASSIGN_OR_RETURN(OpCase next, TakeApart(std::move(graph)));
    cases.push_back(std::move(next));
  }
  return cases;
}

std::string Difference(const Tensor& got, const Tensor& wanted) {
  if (got.dtype() != wanted.dtype() || got.dims() != wanted.dims()) {
    return absl::StrCat("is ", got.ShapeString(), ", expected ", wanted.ShapeString());
  }
  if (wanted.dtype() == DT_STRING) {
    return got.strings() == wanted.strings() ? "" : "has other strings";
  }
  if (!IsFloating(wanted.dtype()) && !IsComplex(wanted.dtype())) {
    const bool same = wanted.byte_size() == 0 || std::memcmp(got.raw(), wanted.raw(), wanted.byte_size()) == 0;
    return same ? "" : absl::StrCat("is ", got.Summary(), ", expected ", wanted.Summary());
  }
  auto a = Numbers(got), b = Numbers(wanted);
  if (!a.ok() || !b.ok()) return "cannot be compared";
  const double tolerance = Tolerance(wanted.dtype());
  for (size_t i = 0; i < b->size(); ++i) {
    const std::complex<double> x = (*a)[i], y = (*b)[i];
    if (x == y || (IsNan(x) && IsNan(y))) continue;
    if (IsFinite(y) && std::abs(x - y) <= tolerance + tolerance * std::abs(y)) continue;
    return absl::StrCat("element ", i, " is ", x.real(), ", expected ", y.real());
  }
  return "";
}

}  // namespace xc
