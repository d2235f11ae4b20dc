// Operations on whole regions, executed by the block together (language 7, 8.1, 10). Extents match
// when they agree after dropping dimensions of extent 1; a base, as in `X(i, j)`, takes its extents
// from the other operand, aligned at the last dimension.
#pragma once

#include "tilewright/lang/region.h"

namespace tw {
inline namespace lang {

using ir::CopyMethod;
using ir::EvictPolicy;
using ir::GemmMethod;
using ir::GemmPolicy;

struct CopyOptions {
  CopyMethod prefer = CopyMethod::automatic;   // hint
  CopyMethod require = CopyMethod::automatic;  // demand (E-COPY-08)
  int64_t max_vector = 0;                      // most contiguous elements per thread; 0: any
  std::string layout = {};                     // demanded thread map of the copy loop
  EvictPolicy evict = EvictPolicy::normal;     // of the global side
  bool cache_global_only = false;
  bool no_tma = false;  // contradicts require = tma (E-COPY-09)
};
/// dst = src, converted as by a cast. Elements outside a tensor read as its safe value
/// and are not written.
void copy(const Region& src, const Region& dst, const CopyOptions& options = {});
/// dst(..., j, i) = src(..., i, j).
void transpose(const Region& src, const Region& dst, const CopyOptions& options = {});
/// Row r of the tile = row index(r) of the tensor; a negative index gives the safe value.
void copy_rows(const Region& tensor, const Region& index, const Region& tile);

/// Every element = value, cast to the region's type.
void fill(const Region& dst, const Operand& value);
void clear(const Region& dst);

struct GemmOptions {
  bool trans_a = false, trans_b = false;  // a is stored K x M, b N x K
  Expr clear = false;                     // c starts from 0; may be a run-time bool
  GemmMethod require = GemmMethod::automatic;
  GemmPolicy policy = GemmPolicy::square;
  int64_t warps_m = 0, warps_n = 0;  // of GemmPolicy::fixed
  int64_t k_pack = 1;
};
/// c = (clear ? 0 : c) + a b, products and sums in c's type. The last two
/// dimensions are the matrix.
void gemm(const Region& a, const Region& b, const Region& c, const GemmOptions& options = {});

struct ScaledGemmOptions {
  bool trans_b = false;  // b is stored N x K
  bool clear = false;
};
/// c += sum over k of (a[m, k] sa[m, k / g]) (b[k, n] sb[n / h, k / g]), where g = K / (columns of
/// sa) and h = N / (rows of sb). The scaling is software: one multiply of partial sums for each
/// group of g steps.
void gemm_scaled_software(const Region& a, const Region& b, const Region& c, const Region& scale_a,
                          const Region& scale_b, const ScaledGemmOptions& options = {});

// ---- the core under tile operations ----

/// Raises unless a tile operation may stand here (E-PROG-03, E-LOOP-04) and use the regions.
void check_regions(const Site& site, const std::vector<Region>& regions);
/// Checks regions and gives them with settled bounds, ready for a statement.
std::vector<ir::Region> settle_regions(const Site& site, const std::vector<Region>& regions);
/// The box that a copy between the regions runs over, for each of them (E-COPY-01).
std::pair<Region, Region> match_extents(const Site& site, const Region& src, const Region& dst);
/// Raises E-REG-01 unless all extents are constants, and gives them.
std::vector<int64_t> constant_extents(const Site& site, const Region& region);

}  // namespace lang
}  // namespace tw
