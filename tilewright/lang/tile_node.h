// Inside of tile values: tiles that are not computed yet, and what computes them.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <vector>

#include "tilewright/lang/tile_value.h"
#include "tilewright/lang/trace.h"

namespace tw {
inline namespace lang {

using Indices = std::vector<Expr>;

/// One value: either its elements are in a fragment, or a function gives them from the elements of
/// other tiles.
struct TileNode {
  std::vector<int64_t> shape;
  DType dtype;
  SourceLoc where;
  Point made;      // where the value was written
  int cost = 0;    // of computing an element anew, without what is in fragments
  int height = 1;  // 1 more than that of the highest input
  std::vector<Tile> inputs = {};
  /// Element at an index; `input(n, index)` gives an element of input n.
  using Input = std::function<Expr(size_t, const Indices&)>;
  std::function<Expr(const Input&, const Indices&)> element = nullptr;
  std::optional<Expr> scalar = {};  // a value that is no tile, of shape []
  bool is_cast = false;             // a default cast of inputs[0]
  bool is_transposed = false;       // inputs[0], a matrix, with exchanged dimensions
  bool is_live = false;             // the fragment belongs to the author and may change
  Buffer fragment = {};             // null: not computed yet
};

int64_t element_count(const std::vector<int64_t>& shape);
/// A new node of that shape, made here.
std::shared_ptr<TileNode> make_node(const Site& site, std::vector<int64_t> shape, DType dtype);
/// Makes tiles the inputs of a node. Its cost is theirs and `own`.
void set_inputs(TileNode& node, std::vector<Tile> inputs, int own);
/// The value that a fragment of a tile's own holds.
Tile from_fragment(const Site& site, std::vector<int64_t> shape, const Buffer& fragment);
/// The axis counted from the front (E-RED-02).
int axis_of(const Site& site, int axis, int rank);
/// What an expression costs to compute, in additions.
int cost_of(const ir::Expr& e);

/// Decides which parts of a value go into fragments before its elements are computed: costly parts
/// that are used by more than one element or statement, and values that may have changed since.
class Materializer {
 public:
  Materializer(const Site& site, const Tile& root);

  /// Makes a tile ready to be read in a box of that many elements.
  void prepare(const Tile& tile, int64_t box, bool is_root);
  /// Whether the tile is in a fragment that can be read here.
  bool is_in_fragment(const Tile& tile) const;
  /// Computes a tile into a fragment of its own.
  void materialize(const Tile& tile);
  /// Calls to(index, value) for every element, in one parallel loop.
  void write(const Tile& tile, const std::function<void(const Indices&, const Expr&)>& to) const;

 private:
  void count_edges(const Tile& tile);
  int64_t users(const Tile& tile) const;
  void keep(TileNode& node);
  void check_alive(const TileNode& node) const;

  Site site_;
  Trace& trace_;
  std::map<const TileNode*, int64_t> edges_;
  std::set<std::pair<const TileNode*, int64_t>> prepared_;  // with the box
};

/// The fragment that holds a tile; computes it first if there is none.
Buffer in_fragment(const Site& site, const Tile& tile);

}  // namespace lang
}  // namespace tw
