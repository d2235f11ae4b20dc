// Parts of buffers: what stands in the parentheses of `X(...)` and what tile operations take.
#pragma once

#include "tilewright/lang/expr.h"

namespace tw {
inline namespace lang {

class Buffer;
class Ref;
class Variable;

/// A range of one dimension.
class Range {
 public:
  Range(ir::Expr begin, ir::Expr extent) : begin_(std::move(begin)), extent_(std::move(extent)) {}
  const ir::Expr& begin() const { return begin_; }
  const ir::Expr& extent() const { return extent_; }  // null: to the end

 private:
  ir::Expr begin_, extent_;
};

/// `extent` indices from `begin` on.
Range at(const Operand& begin, const Operand& extent);
/// The indices from `lo` up to `hi`, without it.
Range span(const Operand& lo, const Operand& hi);
/// A whole dimension.
struct All {};
inline constexpr All all;

/// One entry in the parentheses of `X(...)`: an index, a range, or `all`.
class Index : public Operand {
 public:
  using Operand::Operand;
  Index(const Range& range, SourceLoc where = SourceLoc::here())
      : Operand(0, where), begin_(range.begin()), extent_(range.extent()), is_range_(true) {}
  Index(All, SourceLoc where = SourceLoc::here()) : Operand(0, where), is_range_(true) {}

  bool is_range() const { return is_range_; }
  const ir::Expr& begin() const { return begin_; }    // null: 0
  const ir::Expr& extent() const { return extent_; }  // null: to the end

 private:
  ir::Expr begin_, extent_;
  bool is_range_ = false;
};

/// What a tile operation takes: a buffer as a whole, a part of it, or a base whose extents come
/// from the other operand (language 7.1).
class Region {
 public:
  Region(const Buffer& buffer, SourceLoc where = SourceLoc::here());
  Region(const Ref& ref, SourceLoc where = SourceLoc::here());
  Region(const Variable& variable, SourceLoc where = SourceLoc::here());
  Region(ir::Region region, bool is_base, SourceLoc where);

  /// Without extents when it is a base.
  const ir::Region& ir() const { return region_; }
  const ir::Buffer& buffer() const { return region_.buffer; }
  bool is_base() const { return is_base_; }
  DType dtype() const { return region_.buffer.dtype(); }
  int rank() const { return region_.buffer.rank(); }
  SourceLoc where() const { return where_; }
  /// `x[64, 128] bf16 in shared`, for notes of errors.
  std::string text() const;

 private:
  ir::Region region_;
  bool is_base_ = false;
  SourceLoc where_;
};

/// Promises that the region is inside its buffer, so that nothing checks it.
Region unchecked(const Region& region);

/// `[64, n]`: extents for messages; what is no constant or symbol shows as `?`.
std::string extents_text(const std::vector<ir::Expr>& extents);

}  // namespace lang
}  // namespace tw
