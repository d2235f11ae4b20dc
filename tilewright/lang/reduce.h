// Folding regions: reductions, scans, predicates, and reducers that accumulate over several loops
// (language 9).
#pragma once

#include <optional>

#include "tilewright/lang/buffer.h"

namespace tw {
inline namespace lang {

using ir::ReduceKind;
using ir::ScanKind;

struct ReduceOptions {
  bool clear = true;           // false: combines with what dst holds
  bool propagate_nan = false;  // of max, min, abs_max; otherwise NaN counts only if all are NaN
  bool low_precision = false;  // 16-bit floats: partial sums in dst's type instead of f32
  int64_t batch = 0;           // hint: results that share one exchange (E-RED-04)
};
/// dst = fold of src along `dims` (negative ones count from the end). dst has src's shape with each
/// of these dimensions removed or 1.
void reduce(ReduceKind kind, const Region& src, const Region& dst, const std::vector<int>& dims,
            const ReduceOptions& options = {});

// TW_REDUCE(name): the kinds of the language, each as reduce_<name>(src, dst, dim, options).
#define TW_REDUCE_KINDS(TW_REDUCE) \
  TW_REDUCE(sum)                   \
  TW_REDUCE(abs_sum)               \
  TW_REDUCE(max)                   \
  TW_REDUCE(min)                   \
  TW_REDUCE(abs_max)               \
  TW_REDUCE(prod)                  \
  TW_REDUCE(bit_and)               \
  TW_REDUCE(bit_or)                \
  TW_REDUCE(bit_xor)
#define TW_DECLARE(name)                                                   \
  inline void reduce_##name(const Region& src, const Region& dst, int dim, \
                            const ReduceOptions& options = {}) {           \
    reduce(ReduceKind::name, src, dst, {dim}, options);                    \
  }
TW_REDUCE_KINDS(TW_DECLARE)
#undef TW_DECLARE

struct ScanOptions {
  bool reverse = false;    // from the last element on
  bool exclusive = false;  // without the element itself
};
/// Prefix sums, maxima, ... along `dim`; dst may be src, without a dst it is.
void scan(ScanKind kind, const Region& src, const Region& dst, int dim,
          const ScanOptions& options = {});
#define TW_DECLARE(name)                                                                  \
  inline void cum##name(const Region& src, const Region& dst, int dim,                    \
                        const ScanOptions& options = {}) {                                \
    scan(ScanKind::name, src, dst, dim, options);                                         \
  }                                                                                       \
  inline void cum##name(const Region& region, int dim, const ScanOptions& options = {}) { \
    scan(ScanKind::name, region, region, dim, options);                                   \
  }
TW_DECLARE(sum)
TW_DECLARE(max)
TW_DECLARE(min)
TW_DECLARE(prod)
#undef TW_DECLARE

/// Whether some (every) element is true, or not zero.
Expr any_of(const Region& region);
Expr all_of(const Region& region);

/// Partial results that are combined once at the end: init opens an epoch, any number of updates
/// contribute, finalize folds them into dst. In between the reducer can't be read (E-RDC-01).
Buffer reducer(DType dtype, const Extents& shape, ReduceKind kind,
               std::string_view name = "reducer", SourceLoc where = SourceLoc::here());
/// `initial` takes part once.
void init(const Buffer& reducer, SourceLoc where = SourceLoc::here());
void init(const Buffer& reducer, const Operand& initial);
void update(const Ref& element, const Operand& value);
void finalize(const Buffer& reducer, const Region& dst, SourceLoc where = SourceLoc::here());

}  // namespace lang
}  // namespace tw
