// Random tile programs that are legal: their results are defined, so every executor must agree.
//
// Legal by construction. A tile is written in full where it is allocated; an iteration of a
// parallel loop writes its own element only; blocks write disjoint parts of outputs, or use atomics
// whose order doesn't show; expressions avoid what the language leaves open (expressions.h). Float
// sums and multiplies take small integers, so that every order gives the same bits. In one case of
// eight they take rounded numbers, and there are fast functions; what comes of these goes to
// outputs only, which have a tolerance.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/fuzz/case.h"
#include "tests/fuzz/expressions.h"
#include "tests/fuzz/random.h"
#include "tilewright/ir/build.h"

namespace tw::fuzz {

/// The case of a seed.
Case generate(uint64_t seed, Functions functions = Functions::all);

/// A block buffer in scope. All of its elements have been written.
struct Tile {
  ir::Buffer buffer;
  std::vector<int64_t> shape;
  bool small = false;  // small integers: may be summed and multiplied
  /// Not exact: others may round differently. Then it is only stored.
  reference::Tolerance tolerance = {};
  bool is_rough() const { return !tolerance.is_exact(); }
  DType dtype() const { return buffer.dtype(); }
  bool is_fragment() const { return buffer.root().space() == ir::MemSpace::fragment; }
  bool aliases(const ir::Buffer& other) const { return buffer.root().same_as(other.root()); }
};

/// An extent: as the program says it, and its value in this case.
struct Extent {
  ir::Expr expr;
  int64_t value = 0;
};

class Generator {
 public:
  Generator(uint64_t seed, Functions functions);
  Case run();

 private:
  using Shape = std::vector<int64_t>;
  using Vars = std::vector<ir::Var>;

  // ---- program, parameters (generator.cpp)
  void launch(int number);
  Extent extent(int64_t lo, int64_t hi);
  Extent symbol();
  /// A new tensor parameter with random strides, filled with any values or small ones.
  ir::Buffer tensor(ir::ParamKind kind, const std::string& stem, DType dtype,
                    const std::vector<Extent>& shape, bool small);
  ir::Buffer input(DType dtype, size_t rank, int64_t largest, bool small);
  void scalar_parameters();
  /// Whether a tensor was filled with small integers.
  bool written_as_small(const ir::Buffer& buffer) const;
  void store_output(const Tile& tile);
  void store_to_workspace(const Tile& tile);
  /// An element of a global tensor at any index, inside or not.
  ir::Expr global_element(const ir::Buffer& buffer, int depth);

  // ---- statements
  void statements(int count);
  void statement();
  void emit(ir::Stmt stmt) { out_->push_back(std::move(stmt)); }
  /// What `body` emits, in a scope of its own.
  ir::Stmt scope(const std::function<void()>& body);
  std::string name(const std::string& stem) { return stem + std::to_string(names_++); }

  // ---- tiles (generate_tiles.cpp), folds (generate_folds.cpp)
  Shape tile_shape(DType dtype, size_t rank);
  Shape tile_shape(DType dtype) {
    return tile_shape(dtype, static_cast<size_t>(random_.range(1, 3)));
  }
  /// Allocates a tile, which the caller writes in full and then adds to the scope.
  Tile allocate(DType dtype, Shape shape, std::optional<ir::MemSpace> space = {});
  void add(Tile tile);
  /// A tile of the scope that satisfies the condition, or null.
  const Tile* pick(const std::function<bool(const Tile&)>& wanted);
  /// Writes each element of the tile in a parallel loop (shared tiles: or in serial ones).
  void write_elements(const Tile& tile, const std::function<ir::Expr(DType)>& value);
  /// Parallel loop over a box, its indices in any order.
  void parallel(const Vars& vars, const std::vector<ir::Expr>& extents, ir::Stmt body);
  void parallel(const Vars& vars, const Shape& extents, ir::Stmt body);
  Vars loop_vars(size_t count);
  /// Leaves for the elements of tiles that `vars` can address, except aliases of `written`.
  void add_tile_leaves(const Vars& vars, const Shape& extents, const ir::Buffer& written);
  ir::Stmt element_body(const Tile& tile, const std::vector<ir::Expr>& at, const ir::Expr& value);
  Tile small_tile(DType dtype, Shape shape, std::optional<ir::MemSpace> space = {},
                  bool tiny = false);
  /// An existing tile, or a new one, that may be summed.
  Tile summable(bool tiny, const std::vector<DType>& dtypes);
  /// Makes zeros positive: which zero a fold with min or max gives is open.
  void settle_zeros(const Tile& tile);
  ir::Region global_region(const ir::Buffer& buffer, const Shape& extents);

  void load_tile();
  void fill_tile();
  void elementwise();
  void update_elements();
  void copy_tiles();
  void transpose_tile();
  void reduce();
  void predicate();
  void scan();
  void gemm();
  void pipelined_gemm();
  void reducer();
  /// Adds the result of a sum of `length` terms of at most 16 each to the scope.
  void finish_sum(Tile tile, int64_t length, int64_t roundings = 1);
  void fast_function();
  struct GemmTypes {
    DType a, b, c;
  };
  GemmTypes gemm_types();
  void multiply(const Tile& a, const Tile& b, const Tile& c, bool trans_a, bool trans_b,
                const ir::Expr& clear);

  // ---- views, tensors (generate_memory.cpp)
  void view();
  void tensor_view();
  void address_view();
  /// The part of a new output that belongs to this block: its leading indices are the block's.
  ir::Region slot(const std::vector<Extent>& shape, DType dtype);
  void write_tensor();
  void copy_tensor();

  // ---- control flow, variables, atomics (generate_control.cpp)
  void variable();
  void assign();
  void let();
  void branch();
  void loop();
  void while_loop();
  void atomics();
  void exchange();
  void assertion();
  ir::Stmt maybe_jump();
  /// Values that are the same for the whole block.
  ir::Expr uniform_value(DType dtype, int depth);
  ir::Expr uniform_condition();

  Random random_;
  Expressions exprs_;
  Case case_;
  bool rounds_ = false;  // sums take rounded numbers
  int names_ = 0;
  std::vector<ir::Stmt>* out_ = nullptr;
  std::vector<Tile> tiles_;
  std::vector<ir::Buffer> variables_;
  std::vector<ir::Buffer> readable_;  // tensors that this launch may read anywhere
  std::vector<ir::Buffer> written_;   // by this launch, for later ones
  std::vector<ir::Buffer> small_;     // tensors filled with small integers
  Shape symbol_values_;               // by symbol
  Vars blocks_;
  Shape grid_;
  int depth_ = 0;  // of nested scopes
};

}  // namespace tw::fuzz
