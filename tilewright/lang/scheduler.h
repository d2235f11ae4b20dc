// Persistent blocks: loops over tiles that are shared out among a fixed number of blocks (language
// 5.6). Both forms expand to ordinary loops.
#pragma once

#include <utility>

#include "tilewright/lang/buffer.h"
#include "tilewright/lang/loops.h"

namespace tw {
inline namespace lang {

struct PersistentOptions {
  Expr wave;       // number of resident blocks
  Expr index;      // index of this block
  Expr group = 1;  // neighbours in the last dimension that run together
};
/// Runs body(i0, ..., in) for the tiles of the domain that fall to this block.
void persistent(const Extents& domain, const PersistentOptions& options, const Body& body,
                SourceLoc where = SourceLoc::here());

struct TileSchedulerOptions {
  int64_t swizzle = 1;        // tiles of the secondary axis that run together
  bool column_major = false;  // the primary axis is m, else n
};
/// The stateful form:
///
///   while_(tiles.valid(), [&] { auto [m, n] = tiles.coord(); ...; tiles.next(); });
class TileScheduler {
 public:
  /// `first` is the index of this block (or cluster), `workers` their number.
  TileScheduler(const Operand& num_m, const Operand& num_n, const Operand& first,
                const Operand& workers, const TileSchedulerOptions& options = {});

  Expr valid(SourceLoc where = SourceLoc::here()) const;
  /// The tile (m, n) that is the block's turn.
  std::pair<Expr, Expr> coord(SourceLoc where = SourceLoc::here()) const;
  void next(SourceLoc where = SourceLoc::here());

 private:
  Expr num_m_, num_n_, workers_;
  TileSchedulerOptions options_;
  Variable id_;
};

}  // namespace lang
}  // namespace tw
