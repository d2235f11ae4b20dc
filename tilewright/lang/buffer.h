// Memory: buffers, their elements, variables, and views of buffers (language 3 and 6).
#pragma once

#include <string>
#include <string_view>

#include "tilewright/lang/region.h"

namespace tw {
inline namespace lang {

// TW_ASSIGN(symbol, function): the compound assignments and the operator behind each.
#define TW_ASSIGNMENTS(TW_ASSIGN) \
  TW_ASSIGN(+=, add)              \
  TW_ASSIGN(-=, sub)              \
  TW_ASSIGN(*=, mul)              \
  TW_ASSIGN(/=, div)              \
  TW_ASSIGN(%=, mod)              \
  TW_ASSIGN(&=, bit_and)          \
  TW_ASSIGN(|=, bit_or)           \
  TW_ASSIGN(^=, bit_xor)          \
  TW_ASSIGN(<<=, shl)             \
  TW_ASSIGN(>>=, shr)

/// A part of a buffer, as `X(...)` gives it. With an index for every dimension it is an element: as
/// a value it is what the element held where `X(...)` was written; assigning stores into it.
class Ref {
 public:
  Ref(const Buffer& buffer, const std::vector<Index>& indices, SourceLoc where);
  Ref(const Ref&) = default;

  /// Writes the element, converting as a copy does.
  Ref& operator=(const Operand& value);
  Ref& operator=(const Ref& value) { return *this = Operand(value, value.where()); }
#define TW_DECLARE(symbol, function) Ref& operator symbol(const Operand & value);
  TW_ASSIGNMENTS(TW_DECLARE)
#undef TW_DECLARE

  bool is_element() const { return is_element_; }
  /// The element's value; an error for a part that is no element.
  Expr value() const;
  /// Without extents for an element.
  const ir::Region& region() const { return region_; }
  SourceLoc where() const { return where_; }

 private:
  ir::Region region_;
  ir::Expr load_;
  bool is_element_ = false;
  SourceLoc where_;
};

/// Memory of the program: a parameter, a workspace, an allocation of a block, or a view of one.
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(ir::Buffer buffer) : buffer_(std::move(buffer)) {}
  /// Whether it is one; an optional parameter that is left out is none.
  explicit operator bool() const { return bool(buffer_); }

  /// An element, or a part: dimensions without an entry are taken whole. Negative constants count
  /// from the end.
  Ref operator()(const Index& a) const { return part({a}); }
  Ref operator()(const Index& a, const Index& b) const { return part({a, b}); }
  Ref operator()(const Index& a, const Index& b, const Index& c) const { return part({a, b, c}); }
  Ref operator()(const Index& a, const Index& b, const Index& c, const Index& d) const {
    return part({a, b, c, d});
  }
  Ref operator()(const Index& a, const Index& b, const Index& c, const Index& d,
                 const Index& e) const {
    return part({a, b, c, d, e});
  }
  Ref operator()(const Index& a, const Index& b, const Index& c, const Index& d, const Index& e,
                 const Index& f) const {
    return part({a, b, c, d, e, f});
  }
  Ref operator()(const Index& a, const Index& b, const Index& c, const Index& d, const Index& e,
                 const Index& f, const Index& g) const {
    return part({a, b, c, d, e, f, g});
  }
  Ref operator()(const Index& a, const Index& b, const Index& c, const Index& d, const Index& e,
                 const Index& f, const Index& g, const Index& h) const {
    return part({a, b, c, d, e, f, g, h});
  }
  Ref part(const std::vector<Index>& indices) const;

  DType dtype() const { return buffer_.dtype(); }
  int rank() const { return buffer_.rank(); }
  const std::string& name() const { return buffer_.name(); }
  Expr extent(int dim) const;
  const ir::Buffer& ir() const { return buffer_; }

 private:
  ir::Buffer buffer_;
};

/// A scalar that each thread owns and may change. As a value it is what it holds now.
class Variable {
 public:
  explicit Variable(ir::Buffer buffer) : buffer_(std::move(buffer)) {}
  Variable(const Variable&) = default;

  Variable& operator=(const Operand& value);
  Variable& operator=(const Variable& value);
#define TW_DECLARE(symbol, function) Variable& operator symbol(const Operand & value);
  TW_ASSIGNMENTS(TW_DECLARE)
#undef TW_DECLARE

  Expr value(SourceLoc where = SourceLoc::here()) const;
  DType dtype() const { return buffer_.dtype(); }
  const ir::Buffer& ir() const { return buffer_; }

 private:
  ir::Buffer buffer_;
};

// ---- memory of a block; contents are undefined at first ----
/// For staging tiles, shared by the threads of the block.
Buffer shared(DType dtype, const Extents& shape, std::string_view name = "shared",
              SourceLoc where = SourceLoc::here());
/// Shared memory that does not count in the dynamic size: small tables.
Buffer shared_static(DType dtype, const Extents& shape, std::string_view name = "table",
                     SourceLoc where = SourceLoc::here());
/// Spread over the threads of the block: tiles and accumulators.
Buffer fragment(DType dtype, const Extents& shape, std::string_view name = "fragment",
                SourceLoc where = SourceLoc::here());
/// An array of each thread's own.
Buffer local(DType dtype, const Extents& shape, std::string_view name = "local",
             SourceLoc where = SourceLoc::here());
/// A scalar of each thread's own. The initial value is stored each time this point is reached.
Variable var(DType dtype, const Operand& initial, std::string_view name = "var");
Variable var(DType dtype, SourceLoc where = SourceLoc::here());

/// Evaluates a value once, here.
Expr let(const Operand& value, std::string_view name = "v");

// ---- views: other names for the same storage ----
/// The same elements in row-major order under another shape (E-VIEW-01).
Buffer reshape(const Buffer& buffer, const Extents& shape, SourceLoc where = SourceLoc::here());
/// The same bits as another type (E-VIEW-02).
Buffer view(const Buffer& buffer, DType dtype, const Extents& shape,
            SourceLoc where = SourceLoc::here());
/// The same, with strides in elements of the view (E-VIEW-03).
Buffer view(const Buffer& buffer, DType dtype, const Extents& shape, const Extents& strides,
            SourceLoc where = SourceLoc::here());
/// Dimension d of the view is dimension perm[d] of the buffer; no data moves (E-VIEW-04).
Buffer transpose_view(const Buffer& buffer, const std::vector<int>& perm,
                      SourceLoc where = SourceLoc::here());
/// A part as a buffer of its own.
Buffer slice_view(const Region& region);
/// Global memory at a 64-bit address. `align` promises the address to be a multiple of that many
/// bytes; 0 means the size of an element.
Buffer view_at(const Operand& address, DType dtype, const Extents& shape,
               const Extents& strides = {}, int64_t align = 0);
/// Global memory at a pointer parameter.
Buffer view_at(const Buffer& pointer, const Extents& shape, const Extents& strides = {},
               SourceLoc where = SourceLoc::here());

// ---- the core under allocation and element access ----
/// Allocates in any space of a block (E-MEM-01).
Buffer allocate_block(ir::MemSpace space, const Site& site, DType dtype, const Extents& shape,
                      std::string_view name);
/// Stores a value into one element of a buffer.
void store_element(const Site& site, const ir::Region& element, const Expr& value);
/// Raises E-TYPE-08 if the innermost extent of a packed type is odd.
void check_packed(const Site& site, DType dtype, const std::vector<ir::Expr>& shape);
/// Raises E-PROG-07 if the buffer is an input of the kernel.
void check_writable(const Site& site, const ir::Buffer& buffer);

}  // namespace lang
}  // namespace tw
