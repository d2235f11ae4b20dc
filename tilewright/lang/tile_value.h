// Tile values: immutable tiles for kernels that load, compute, reduce and store (language 10.1).
// They are sugar over the core and exist only while tracing: a load is a copy into a fragment of
// its own, a chain of element functions one parallel loop where it is stored, reduced or
// multiplied, a reduction a tile reduction.
//
// Shapes broadcast from the right as in numpy (E-TILE-01); types promote as those of values do.
#pragma once

#include <functional>
#include <memory>

#include "tilewright/lang/buffer.h"
#include "tilewright/lang/functions.h"
#include "tilewright/lang/math.h"

namespace tw {
inline namespace lang {

struct TileNode;

class Tile {
 public:
  Tile() = default;
  explicit Tile(std::shared_ptr<TileNode> node) : node_(std::move(node)) {}

  DType dtype() const;
  const std::vector<int64_t>& shape() const;
  int rank() const { return static_cast<int>(shape().size()); }
  /// A fragment that holds the value, for use with the core. Do not write to it.
  Buffer fragment(SourceLoc where = SourceLoc::here()) const;

  const std::shared_ptr<TileNode>& node() const { return node_; }

 private:
  std::shared_ptr<TileNode> node_;
};

/// A tile as an argument, with the author's line.
class TileArg {
 public:
  TileArg(const Tile& tile, SourceLoc where = SourceLoc::here()) : tile_(tile), where_(where) {}
  TileArg(Tile&& tile, SourceLoc where = SourceLoc::here())
      : tile_(std::move(tile)), where_(where) {}

  Tile& tile() { return tile_; }
  SourceLoc where() const { return where_; }

 protected:
  Tile tile_;
  SourceLoc where_;
};

/// A tile, or a value that broadcasts to every element of one.
class TileOperand : public TileArg {
 public:
  using TileArg::TileArg;
  TileOperand(const Operand& value);
  TileOperand(const Expr& value, SourceLoc where = SourceLoc::here())
      : TileOperand(Operand(value, where)) {}
  TileOperand(const Ref& element, SourceLoc where = SourceLoc::here())
      : TileOperand(Operand(element, where)) {}
  TileOperand(const Variable& variable, SourceLoc where = SourceLoc::here())
      : TileOperand(Operand(variable, where)) {}
  template <Number T>
  TileOperand(T value, SourceLoc where = SourceLoc::here()) : TileOperand(Operand(value, where)) {}
};

// ---- making, storing ----
/// The elements of a region of constant extents, copied here.
Tile load(const Region& region);
/// The elements of a buffer of the block as they are here.
Tile value(const Buffer& buffer, SourceLoc where = SourceLoc::here());
/// Writes the value, converted as by a copy. Shapes match as in a copy (E-COPY-01).
void store(const Region& region, TileArg value);
/// Every element is x.
Tile full(const std::vector<int64_t>& shape, const Operand& x);
/// Element i0, i1, ... is its index along `axis`.
Tile iota(const std::vector<int64_t>& shape, int axis = 0, DType dtype = i32,
          SourceLoc where = SourceLoc::here());

// ---- element functions ----
#define TW_DECLARE(symbol, name)                          \
  Tile name(TileArg a, TileOperand b);                    \
  Tile name(const Operand& a, TileArg b);                 \
  inline Tile operator symbol(TileArg a, TileOperand b) { \
    return name(std::move(a), std::move(b));              \
  }                                                       \
  inline Tile operator symbol(const Operand& a, TileArg b) { return name(a, std::move(b)); }
TW_BINARY_OPERATORS(TW_DECLARE)
#undef TW_DECLARE
#define TW_DECLARE(name) Tile name(TileArg x);
TW_UNARY_FUNCTIONS(TW_DECLARE)
TW_DECLARE(neg)
TW_DECLARE(bit_not)
TW_DECLARE(logical_not)
#undef TW_DECLARE
inline Tile operator-(TileArg x) { return neg(std::move(x)); }
inline Tile operator~(TileArg x) { return bit_not(std::move(x)); }
inline Tile operator!(TileArg x) { return logical_not(std::move(x)); }
#define TW_DECLARE(name)               \
  Tile name(TileArg a, TileOperand b); \
  Tile name(const Operand& a, TileArg b);
TW_BINARY_FUNCTIONS(TW_DECLARE)
#undef TW_DECLARE
#define TW_DECLARE(name)                                 \
  Tile name(TileArg a, TileOperand b, TileOperand c);    \
  Tile name(const Operand& a, TileArg b, TileOperand c); \
  Tile name(const Operand& a, const Operand& b, TileArg c);
TW_TERNARY_FUNCTIONS(TW_DECLARE)
#undef TW_DECLARE
namespace fast {
#define TW_DECLARE(name) Tile name(TileArg x);
TW_FAST_FUNCTIONS(TW_DECLARE)
TW_DECLARE(sigmoid)
#undef TW_DECLARE
Tile div(TileArg a, TileOperand b);
}  // namespace fast
Tile cast(TileArg x, DType dtype, const CastOptions& options = {});
Tile bitcast(TileArg x, DType dtype);

/// Any function of elements, applied to tiles that broadcast to one shape. The core under all the
/// above: `f` gets one value per tile.
using ElementFunction = std::function<Expr(const std::vector<Operand>&)>;
Tile map(const Site& site, std::vector<Tile> tiles, ElementFunction f);

// ---- shapes ----
/// The same elements in row-major order under another shape (E-VIEW-01).
Tile reshape(TileArg x, const std::vector<int64_t>& shape);
/// Dimension d of the result is dimension perm[d]; without perm the last two change places.
Tile transpose(TileArg x, std::vector<int> perm = {});
Tile broadcast(TileArg x, const std::vector<int64_t>& shape);

// ---- folding ----
/// The axis of a reduction: a C++ integer, negative from the end.
class Axis {
 public:
  template <std::integral T>
  Axis(T value, SourceLoc where = SourceLoc::here())
      : value_(static_cast<int>(value)), where_(where) {}
  int value() const { return value_; }
  SourceLoc where() const { return where_; }

 private:
  int value_;
  SourceLoc where_;
};
/// Folds along an axis, which stays with extent 1. A C++ integer is an axis: write `max(x, 0.f)` or
/// `max(x, Expr(0))` for the larger of x and 0.
Tile sum(const Tile& x, Axis axis);
Tile prod(const Tile& x, Axis axis);
Tile max(const Tile& x, Axis axis);
Tile min(const Tile& x, Axis axis);
Tile abs_max(const Tile& x, Axis axis);
Tile abs_sum(const Tile& x, Axis axis);

// ---- multiplying ----
/// The matrix product of [M, K] and [K, N], in f32 (f64 of f64, i32 of i8).
Tile dot(TileArg a, TileArg b);
/// c + a b, in c's type.
Tile dot(TileArg a, TileArg b, TileArg c);

}  // namespace lang
}  // namespace tw
