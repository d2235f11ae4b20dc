#include "tilewright/layout/layout.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "tilewright/base/error.h"
#include "tilewright/layout/bounds.h"
#include "tilewright/layout/normal.h"

namespace tw::layout {
namespace {

constexpr int64_t kLimitOfTrying = int64_t{1} << 20;

}  // namespace

Layout::Layout(Coords shape, std::vector<Term> terms, Coords extents)
    : shape_(std::move(shape)), extents_(std::move(extents)) {
  for (const int64_t extent : shape_) {
    TW_REQUIRE(extent >= 1, "layout: shape {} has an extent below 1", shape_);
  }
  terms_ = normalize(std::move(terms), shape_, out_rank());
  Coords greatest = bounds_of(terms_, shape_, out_rank(), Coords(shape_.size()), shape_).greatest;
  const auto fits = [&] {
    return std::equal(greatest.begin(), greatest.end(), extents_.begin(), std::less<>());
  };
  if (!fits() && size() <= kLimitOfTrying) {  // the bounds may be too wide
    greatest.assign(extents_.size(), 0);
    every(shape_, [&](const Coords& x) {
      const Coords p = apply(x);
      for (size_t out = 0; out < p.size(); ++out) greatest[out] = std::max(greatest[out], p[out]);
      return true;
    });
  }
  TW_REQUIRE(fits(), "layout: {} reaches {}, outside its physical box", to_text(*this), greatest);
}

Layout Layout::tight(Coords shape, std::vector<Term> terms, int out_rank) {
  terms = normalize(std::move(terms), shape, out_rank);
  const Bounds bounds = bounds_of(terms, shape, out_rank, Coords(shape.size(), 0), shape);
  Coords extents = bounds.greatest;
  for (int64_t& extent : extents) ++extent;
  return Layout(std::move(shape), std::move(terms), std::move(extents));
}

int64_t Layout::size() const { return product(shape_); }
int64_t Layout::physical_size() const { return product(extents_); }

Coords Layout::apply(const Coords& x) const {
  TW_CHECK(x.size() == shape_.size(), "{} applied to {}", to_text(*this), x);
  Coords physical(extents_.size());
  for (const Term& term : terms_) physical[term.out] += term.value(x) * term.stride;
  return physical;
}

int64_t Layout::offset(const Coords& x) const {
  const Coords physical = apply(x);
  int64_t offset = 0;
  for (size_t out = 0; out < physical.size(); ++out) {
    offset = offset * extents_[out] + physical[out];
  }
  return offset;
}

Layout row_major(const Coords& shape) {
  std::vector<Term> terms;
  for (int dim = 0; dim < static_cast<int>(shape.size()); ++dim) {
    terms.push_back({{{dim, 1}}, shape[dim], dim, 1});
  }
  return Layout(shape, std::move(terms), shape);
}

Layout strided(const Coords& shape, const Coords& strides) {
  TW_REQUIRE(shape.size() == strides.size(), "layout: shape {} with strides {}", shape, strides);
  std::vector<Term> terms;
  for (int dim = 0; dim < static_cast<int>(shape.size()); ++dim) {
    terms.push_back({{{dim, 1}}, shape[dim], 0, strides[dim]});
  }
  return Layout::tight(shape, std::move(terms), 1);
}

int64_t product(const Coords& extents) {
  int64_t total = 1;
  for (const int64_t extent : extents) total *= extent;
  return total;
}

Coords row_major_strides(const Coords& extents) {
  Coords strides(extents.size(), 1);
  for (size_t i = extents.size(); i-- > 1;) strides[i - 1] = strides[i] * extents[i];
  return strides;
}

Coords unflatten(int64_t index, const Coords& extents) {
  Coords x(extents.size());
  for (size_t i = extents.size(); i-- > 0;) {
    x[i] = index % extents[i];
    index /= extents[i];
  }
  return x;
}

std::string dimension_name(int dim) {
  return dim < 8 ? std::string(1, static_cast<char>('i' + dim)) : "d" + std::to_string(dim);
}

std::string expressions(const Layout& layout, const std::vector<std::string>& names) {
  const auto digit = [&](const Term& term, const Source& source) {
    std::string text = names[source.dim];
    if (source.div != 1) text += format(" / {}", source.div);
    if (layout.wraps(term, source)) text += format(" % {}", term.extent);
    return text;
  };
  std::vector<std::string> sums(layout.out_rank());
  for (const Term& term : layout.terms()) {
    std::vector<std::string> digits;
    for (const Source& source : term.sources) digits.push_back(digit(term, source));
    std::string text = join(digits, " ^ ");
    if (digits.size() > 1) text = "(" + text + ")";
    if (term.stride != 1) text += format(" * {}", term.stride);
    std::string& sum = sums[term.out];
    sum += (sum.empty() ? "" : " + ") + text;
  }
  for (std::string& sum : sums) {
    if (sum.empty()) sum = "0";
  }
  return join(sums, ", ");
}

std::string to_text(const Layout& layout) {
  std::vector<std::string> names;
  for (int d = 0; d < layout.rank(); ++d) names.push_back(dimension_name(d));
  return format("{} -> {}: {}", layout.shape(), layout.extents(), expressions(layout, names));
}

}  // namespace tw::layout
