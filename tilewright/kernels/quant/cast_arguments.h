// Checks of arguments that casts to codes with scale factors share.
#pragma once

#include "tilewright/kernels/check.h"
#include "tilewright/kernels/quant.h"
#include "tilewright/kernels/quant/scale.h"

namespace tw::kernels {

/// What of the two results is computed; without the codes, or from factors that are given.
enum class Part : uint8_t { both, factors, codes };

/// Raises unless factors of `sf`'s dtype can be computed so.
void check_rounding(std::string_view function, const Tensor& sf, bool round_sf);
ScaleKind kind_of(bool round_sf, DType sf);
/// The least amax that counts, where 0 stands for that of the format.
float least_or_default(float least, DType format, DType sf);

/// Threads of a block that has a row, each so many elements; 0 where whole warps don't share out
/// rows of whole groups so.
int64_t threads_of_row(int64_t width, int64_t group, int64_t elements = 32);

/// A cast of codes back to y [m, k], whose dtype and shape fit. Raises unless blocks and factors do
/// and y is apart from the rest; gives the factors as the kernel takes them.
Tensor check_cast_back(const char* function, const Tensor& q, const Tensor& sf, const Tensor& y,
                       const CastBackArgs& args);
/// Columns of a tile of casts back: as many of 512 as the width has room for.
int64_t columns_of_tile(int64_t width);

/// A cast of f32 or bf16 [m, k] with factors of `rows` x `columns`.
struct CastArguments {
  const char* function;
  Part part;
  const Tensor& x;
  DType format;     // of codes
  const Tensor* q;  // null where only factors are computed
  const Tensor& sf;
  bool round_sf;

  /// Raises unless format, dtypes, shapes and flags fit, and results are apart from the rest; gives
  /// the factors as the kernel takes them.
  Tensor check(int64_t rows, int64_t columns) const;
};

}  // namespace tw::kernels
