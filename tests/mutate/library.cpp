#include "tests/mutate/library.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <filesystem>
#include <random>
#include <regex>
#include <tuple>
#include <utility>

#include "tests/kernels/tensors.h"
#include "tests/mutate/cases.h"
#include "tests/reference/moe_layout.h"
#include "tests/support/golden.h"
#include "tilewright/base/format.h"
#include "tilewright/kernels/activation.h"
#include "tilewright/kernels/attention.h"
#include "tilewright/kernels/elementwise.h"
#include "tilewright/kernels/gather.h"
#include "tilewright/kernels/gemm.h"
#include "tilewright/kernels/moe.h"
#include "tilewright/kernels/move.h"
#include "tilewright/kernels/norm.h"
#include "tilewright/kernels/pool.h"
#include "tilewright/kernels/quant.h"
#include "tilewright/kernels/reduce.h"
#include "tilewright/kernels/scan.h"
#include "tilewright/kernels/select.h"
#include "tilewright/kernels/transform.h"
#include "tilewright/kernels/work.h"
#include "tilewright/lang/math.h"

namespace tw::test {
namespace {

using namespace kernels;
using lang::cdiv;

constexpr Peaks kPeaks[] = {Peaks::scattered, Peaks::first, Peaks::last};

/// The next multiple of 16.
int64_t up(int64_t size) { return (size + 15) / 16 * 16; }

/// The first h columns.
Tensor left(const Tensor& t, int64_t h) { return t.slice(t.rank() - 1, 0, h); }

void add_activations(Cases& cases) {
  struct Function {
    const char* name;
    void (*run)(const Tensor&, const Tensor&, Stream);
  };
  for (const Function& f :
       {Function{"relu", relu}, Function{"gelu", gelu}, Function{"gelu_tanh", gelu_tanh},
        Function{"silu", silu}, Function{"sigmoid", sigmoid}}) {
    for (const DType dtype : {f32, bf16, f16}) {
      cases.add(f.name, to_text(dtype), [=](Place& p) {
        // One row of some blocks, the last of them nearly whole, and rows with gaps.
        for (const int64_t n : {8088, 8093, 8195}) {
          f.run(p.input(dtype, {n}, -9, 9), p.output(dtype, {n}), {});
        }
        f.run(left(p.input(dtype, {2, 8112}, -9, 9), 8093), left(p.output(dtype, {2, 8112}), 8093),
              {});
      });
    }
  }
  for (const DType dtype : {f32, bf16}) {
    cases.add("silu_mul", to_text(dtype), [=](Place& p) {
      for (const int64_t n : {4088, 4093, 4099}) {
        silu_mul(p.input(dtype, {n}, -9, 9), p.input(dtype, {n}), p.output(dtype, {n}));
      }
      const Tensor both = p.input(dtype, {2, 2 * 4096}, -9, 9);
      silu_mul(left(both, 4093), both.slice(1, 4096, 4093), left(p.output(dtype, {2, 4096}), 4093));
    });
  }
}

using Sizes = std::vector<std::pair<int64_t, int64_t>>;

/// Schedules of GPUs differ by how much there is to do.
constexpr Work kWorks[] = {Work::little, Work::much};

/// Rows of elements of at most so many bits, for wide, narrow and tiny tiles: one whole tile in
/// each direction and one that is nearly whole, or nearly empty. 3 more columns make them a
/// multiple of 16 bytes.
Sizes tiled_rows(int bits, int vectors = 2) {
  const int64_t elements = vectors * 128 * 128 / bits;  // of a tile
  return {{3, 2 * elements - 19}, {2 * elements / 128 - 3, 253}, {2 * elements / 16 - 3, 29},
          {2, elements + 13},     {elements / 128 + 1, 141},     {elements / 16 + 1, 29}};
}

/// Of functions that aren't costly.
int vectors_of(Work work) { return work == Work::much ? 2 : 4; }

void add_elementwise(Cases& cases) {
  using Binary = void (*)(const Tensor&, const Tensor&, const Tensor&, Stream);
  for (const auto& [name, run] : {std::pair("add", Binary{add}), std::pair("mul", Binary{mul}),
                                  std::pair("add_relu", Binary{add_relu})}) {
    const Binary f = run;
    for (const DType dtype : {f32, bf16}) {
      cases.add(name, format("{} in one row", dtype), [=](Place& p) {
        for (const int64_t n : {4088, 4093, 4099}) {
          f(p.input(dtype, {n}), p.input(dtype, {n}), p.output(dtype, {n}), {});
        }
      });
    }
    cases.add(name, "bf16 in rows", [=](Place& p) {
      for (const auto& [n, h] : tiled_rows(16)) {
        f(left(p.input(bf16, {n, h + 11}), h), left(p.input(bf16, {n, h + 3}), h),
          left(p.output(bf16, {n, h + 19}), h), {});
      }
    });
  }
  cases.add("add", "f32, bf16 to f16", [](Place& p) {
    add(p.input(f32, {4093}), p.input(bf16, {4093}), p.output(f16, {4093}));
  });
  cases.add("add", "f32, broadcast", [](Place& p) {
    Sizes all = tiled_rows(32);
    // To read one farther shows behind the last row and column alone, of whole tiles and of others.
    for (const auto& [n, h] : Sizes{{3, 1024}, {16, 128}, {64, 16}}) {
      all.emplace_back(n, h);
      all.emplace_back(n - 1, h - 4);
    }
    for (const auto& [n, h] : all) {
      const int64_t row = up(h);
      for (const Tensor& b : {p.input(f32, {n, 1}), p.input(f32, {h})}) {
        add(left(p.input(f32, {n, row}), h), b, left(p.output(f32, {n, row}), h));
      }
    }
  });
  cases.add("add", "f32 in three dimensions", [](Place& p) {
    const Tensor a = p.input(f32, {3, 6, 260}), y = p.output(f32, {3, 6, 260});
    add(a.slice(1, 0, 5).slice(2, 0, 253), p.input(f32, {253, 5, 3}).transpose(0, 2),
        y.slice(1, 0, 5).slice(2, 0, 253));
  });
  for (const DType dtype : {f32, bf16}) {
    cases.add("silu_and_mul", to_text(dtype), [=](Place& p) {
      for (const auto& [n, h] : tiled_rows(dtype.bits())) {
        silu_and_mul(left(p.input(dtype, {n, 2 * h + 6}, -9, 9), 2 * h),
                     left(p.output(dtype, {n, h + 3}), h));
      }
    });
    // Both halves begin at a multiple of 16 bytes.
    cases.add("silu_and_mul", format("{}, whole vectors", dtype), [=](Place& p) {
      for (const auto& [n, h] : tiled_rows(dtype.bits())) {
        silu_and_mul(p.input(dtype, {n, 2 * (h - 5)}, -9, 9), p.output(dtype, {n, h - 5}));
      }
    });
    cases.last().facts = {format("h % {} == 0", 128 / dtype.bits())};
  }
}

void add_moves(Cases& cases) {
  for (const DType dtype : {u8, bf16, f32, f64}) {
    cases.add("copy", to_text(dtype), [=](Place& p) {
      for (const Work work : kWorks) {
        const WithWork scope(work);
        for (const int64_t n : {8080, 8093, 8195}) {
          copy(p.input(dtype, {n}, 0, 99), p.output(dtype, {n}));
        }
        for (const auto& [n, h] : tiled_rows(dtype.bits(), vectors_of(work))) {
          copy(left(p.input(dtype, {n, h + 3}, 0, 99), h), left(p.output(dtype, {n, h + 19}), h));
        }
      }
    });
    cases.add("transpose", to_text(dtype), [=](Place& p) {
      const int bits = dtype.bits();
      for (const Work work : kWorks) {
        const WithWork scope(work);
        const int64_t down = (bits <= 16 ? 1024 : 2048) / bits;  // of a tile
        const int64_t across = (work == Work::little ? 512 : 1024) / bits;
        for (const auto& [batch, m, n] :
             {std::tuple(2, int64_t{5}, int64_t{7}), std::tuple(1, down + 1, across + 2),
              std::tuple(1, 2 * down - 1, 2 * across - 3)}) {
          transpose(left(p.input(dtype, {batch, m, up(n)}, 0, 99), n),
                    left(p.output(dtype, {batch, n, up(m)}), m));
        }
      }
    });
  }
  cases.add("copy", "bf16, transposed", [](Place& p) {
    copy(p.input(bf16, {253, 7, 6}).transpose(0, 2), p.output(bf16, {6, 7, 253}));
    const Tensor y = p.output(bf16, {7, 6, 256});
    copy(p.input(bf16, {6, 7, 253}).transpose(0, 1), left(y, 253));
  });
}

/// Short rows, of which 13 or 12 share a block, and long ones; 77 is odd. One block of the last is
/// whole, or nearly so.
Sizes held_rows() { return {{25, 77}, {26, 77}, {23, 80}, {24, 80}, {9, 1032}}; }

void add_norms(Cases& cases) {
  for (const DType dtype : {f32, bf16}) {
    const DType weight = dtype == bf16 ? f32 : bf16;
    const auto add = [&](const char* name, auto f) {
      cases.add(name, to_text(dtype), [=](Place& p) {
        for (const auto& [n, h] : held_rows()) {
          f(p, n, h);
        }
      });
    };
    add("rms_norm", [=](Place& p, int64_t n, int64_t h) {
      rms_norm(p.input(dtype, {n, h}), p.input(weight, {h}), 1e-5F, p.output(dtype, {n, h}));
    });
    add("layer_norm", [=](Place& p, int64_t n, int64_t h) {
      // Far from zero a variance about zero is lost; f32 has it about the mean.
      for (const double far : {0, 2000}) {
        if (far != 0 && dtype == f32) continue;
        layer_norm(p.input(dtype, {n, h}, far - 2, far + 2 + far / 100), p.input(weight, {h}),
                   p.input(weight, {h}), 1e-5F, p.output(dtype, {n, h}));
      }
    });
    add("residual_rms_norm", [=](Place& p, int64_t n, int64_t h) {
      residual_rms_norm(p.input(dtype, {n, h}), p.input(dtype, {n, h}), p.input(weight, {h}), 1e-5F,
                        p.output(dtype, {n, h}), left(p.output(dtype, {n, h + 24}), h));
    });
    add("residual_layer_norm", [=](Place& p, int64_t n, int64_t h) {
      residual_layer_norm(p.input(dtype, {n, h}), p.input(dtype, {n, h}), p.input(weight, {h}),
                          p.input(weight, {h}), 1e-5F, p.output(dtype, {n, h}),
                          left(p.output(dtype, {n, h + 24}), h));
    });
    add("softmax", [=](Place& p, int64_t n, int64_t h) {
      // Without its highest number the terms of a row are infinite if the scale is large.
      for (const Peaks where : kPeaks) {
        for (const float scale : {1.5F, 200.0F}) {
          softmax(p.peaks(dtype, {n, h}, h, where), scale, left(p.output(dtype, {n, h + 8}), h));
        }
      }
    });
  }
}

void add_folds(Cases& cases) {
  for (const DType dtype : {f32, bf16}) {
    const auto add = [&](const char* name, const char* how, auto f) {
      cases.add(name, format("{}{}", dtype, how), [=](Place& p) {
        for (const auto& [n, h] : held_rows()) f(p, n, h);
      });
      cases.add(name, format("{}{}, by more threads", dtype, how),
                [=](Place& p) { f(p, 9, 5120); });
      // Two whole strips and one that is nearly so.
      cases.add(name, format("{}{}, rows in strips", dtype, how),
                [=](Place& p) { f(p, 9, 3 * 16384 - 24); });
    };
    add("sum", "",
        [=](Place& p, int64_t n, int64_t h) { sum(p.input(dtype, {n, h}), p.output(f32, {n})); });
    add("max", "", [=](Place& p, int64_t n, int64_t h) {
      for (const Peaks where : kPeaks) max(p.peaks(dtype, {n, h}, h, where), p.output(dtype, {n}));
    });
    add("max", ", NaN", [=](Place& p, int64_t n, int64_t h) {
      for (const Peaks where : kPeaks) {
        max(p.peaks(dtype, {n, h}, h, where), p.output(dtype, {n}), true);
      }
    });
    cases.add("cumsum", to_text(dtype), [=](Place& p) {
      for (const DType result : {dtype, f32}) {
        for (const int64_t h : {493, 512, 259}) {
          const int64_t row = up(h);
          for (const int64_t n : {31, 32}) {
            cumsum(left(p.input(dtype, {n, row}), h), left(p.output(result, {n, row}), h));
          }
        }
      }
    });
    cases.add("cumsum", format("{}, long rows", dtype), [=](Place& p) {
      for (const int64_t h : {8173, 4099, 24571}) {
        const int64_t row = up(h);
        cumsum(left(p.input(dtype, {2, row}), h), left(p.output(dtype, {2, row}), h));
      }
    });
  }
}

void add_argmax(Cases& cases) {
  for (const DType dtype : {f32, bf16}) {
    const int64_t vector = 128 / dtype.bits(), strip = 128 * vector;
    const auto find = [=](Place& p, const Tensor& x) {
      argmax(x, p.output(dtype == f32 ? i64 : i32, {x.dim(0)}));
    };
    const auto run = [=](Place& p, int64_t n, int64_t h) {
      for (const Peaks where : kPeaks) find(p, p.peaks(dtype, {n, h}, h, where));
      // In each place of a vector, in each strip that is held.
      const int64_t strips = cdiv(h, strip), vectors = cdiv(cdiv(h, strips), vector);
      for (int64_t s = 0; s < std::min<int64_t>(strips, 8); ++s) {
        const Tensor x = p.input(dtype, {std::max(n, vector), h});
        for (int64_t row = 0; row < x.dim(0); ++row) {
          const int64_t column = s * vectors + row * 29 % (vectors - 4);
          assign(x.slice(0, row, 1).slice(1, column * vector + row % vector, 1), {3});
          assign(x.slice(0, row, 1).slice(1, h - 1, 1), {2.5});
        }
        find(p, x);
      }
      // The largest are -0 and, further on, 0: they are equal.
      const Tensor zeros = p.input(dtype, {n, h}, -2, -1);
      for (int64_t row = 0; row < n; ++row) {
        assign(zeros.slice(0, row, 1).slice(1, h / 3, 1), {-0.0});
        assign(zeros.slice(0, row, 1).slice(1, h - 1, 1), {0.0});
      }
      find(p, zeros);
      // Rows that begin with NaN, have nothing else, or behind the largest.
      const Tensor x = p.input(dtype, {n, h}, -2, -1), y = p.input(dtype, {n, h}, -2, -1);
      const std::vector<double> nans(static_cast<size_t>(h), NAN);
      const auto set_nans = [&](const Tensor& row, int64_t first, int64_t count) {
        assign(row.slice(1, first, count), {nans.begin(), nans.begin() + count});
      };
      for (int64_t row = 0; row < n; ++row) {
        set_nans(x.slice(0, row, 1), 0, row % 3 == 0 ? h : row % 3 * h / 3);
        const int64_t at = (h - 2 - row) / (row % 4 + 1);
        assign(y.slice(0, row, 1).slice(1, at, 1), {3});
        set_nans(y.slice(0, row, 1), at + 1, h - at - 1);
      }
      find(p, x);
      find(p, y);
    };
    cases.add("argmax", to_text(dtype), [=](Place& p) {
      for (const auto& [n, h] : Sizes{{25, 77}, {26, 77}, {23, 80}, {24, 80}, {4, 1848}}) {
        run(p, n, h);
      }
    });
    // Two spans of strips, the last of them nearly empty.
    cases.add("argmax", format("{}, rows in strips", dtype),
              [=](Place& p) { run(p, 2, 10 * strip - 24); });
  }
}

void add_top_k(Cases& cases) {
  for (const DType dtype : {f32, bf16}) {
    cases.add("top_k", to_text(dtype), [=](Place& p) {
      for (const auto& [n, h, k] :
           {std::tuple(7, 20, 3), std::tuple(5, 264, 5), std::tuple(7, 40, 9)}) {
        const auto find = [&](const Tensor& x) {
          top_k(x, p.output(dtype, {x.dim(0), k}),
                p.output(dtype == f32 ? i32 : i64, {x.dim(0), k}));
        };
        const Tensor x = p.input(dtype, {n, h});
        assign(x.slice(0, 1, 1).slice(1, 0, 6), {NAN, -0.0, 0.0, -INFINITY, NAN, -0.0});
        find(x);
        // Zeros are the largest, at the beginning or at the end.
        for (const int64_t first : {int64_t{0}, int64_t{h} - 5}) {
          const Tensor least = p.input(dtype, {n, h}, -3, -2);
          for (int64_t row = 0; row < n; ++row) {
            assign(least.slice(0, row, 1).slice(1, first, 5), {-0.0, NAN, 0.0, NAN, -0.0});
          }
          find(least);
        }
        if (h == 20) continue;
        for (const Tensor& some : peaks_in_lists(p, dtype, h, NAN)) find(some);
      }
    });
  }
}

void add_rows(Cases& cases) {
  for (const DType dtype : {u8, bf16, f32}) {
    cases.add("gather_rows", to_text(dtype), [=](Place& p) {
      const DType index = dtype == bf16 ? i64 : i32;
      for (const auto& [n, h] : held_rows()) {
        std::vector<double> rows;  // some of them outside
        for (int64_t i = 0; i < n; ++i) {
          rows.push_back(static_cast<double>(i % 6 == 2   ? -1 - i
                                             : i % 6 == 4 ? 11 + i
                                                          : i * 7 % 11));
        }
        gather_rows(p.input(dtype, {11, h}, 0, 99), p.holding(index, {n}, rows),
                    left(p.output(dtype, {n, h + 16}), h));
      }
    });
  }
  for (const auto& [dtype, sums] :
       {std::pair(f32, f32), std::pair(bf16, bf16), std::pair(f16, f32)}) {
    const DType from = dtype, to = sums;
    cases.add("scatter_add_rows", format("{} to {}", from, to), [=](Place& p) {
      scatter_add_rows(left(p.integers(from, {9, 2032}), 2029),
                       p.holding(from == f32 ? i64 : i32, {9}, {3, 4, -1, 0, 3, 5, 2, 6, 1}),
                       left(p.updated(p.integers(to, {5, 2048})), 2029));
    });
  }
  for (const DType dtype : {f32, bf16}) {
    for (const bool normalize : {false, true}) {
      cases.add("masked_mean_pool", format("{}{}", dtype, normalize ? ", normalized" : ""),
                [=](Place& p) {
                  for (const int64_t h : {77, 80, 392}) {
                    masked_mean_pool(p.input(dtype, {19, h}),
                                     p.holding(dtype == f32 ? i64 : i32, {5}, {0, 6, 6, 7, 19}),
                                     left(p.output(f32, {4, h + 8}), h), normalize);
                  }
                });
    }
  }
  cases.stops("masked_mean_pool", "sequences outside", [](Place& p) {
    for (const DType dtype : {f32, bf16}) {
      for (const bool normalize : {false, true}) {
        for (const int64_t h : {77, 80, 392}) {
          for (const std::vector<double>& list :
               {std::vector<double>{0, 6, 6, 7, 23}, {-2, 6, 6, 7, 19}, {0, 6, 5, 19, 19}}) {
            masked_mean_pool(p.input(dtype, {19, h}),
                             p.holding(dtype == f32 ? i64 : i32, {5}, list),
                             left(p.output(f32, {4, h + 8}), h), normalize);
          }
        }
      }
    }
  });
}

/// Factors of m x n blocks: in f32 or e4m3 row by row, or exponents in words, column by column.
Tensor factors(Place& p, DType dtype, int64_t m, int64_t n) {
  if (dtype != i32) return p.output(dtype, {m, n});
  return p.output(i32, {(n + 3) / 4, (m + 3) / 4 * 4}).transpose(0, 1).slice(0, 0, m);
}

void add_token_casts(Cases& cases) {
  constexpr int64_t kRows = 13;  // some blocks, the last of them nearly empty
  struct Form {
    DType sf;
    int64_t k, group;
  };
  for (const auto& [sf, k, group] : {Form{f32, 576, 128}, {i32, 576, 128}, {f8_e4m3, 320, 16}}) {
    const TokenCastArgs args{.group = group, .round_sf = sf == i32};
    const int64_t groups = (k + group - 1) / group;
    const DType f = sf;
    const int64_t h = k;
    for (const DType dtype : {f32, bf16}) {
      const auto x = [=](Place& p, Peaks where) {  // rows with gaps, and without
        return left(
            p.peaks(dtype, {kRows, h + (where == Peaks::first ? 16 : 0)}, args.group, where), h);
      };
      const std::string what = format("{}, factors {} of {}", dtype, f, group);
      for (const DType format : {f8_e4m3, f4_e2m1}) {
        const DType to = format;
        cases.add("per_token_cast", tw::format("{} to {}", what, to), [=](Place& p) {
          for (const Peaks where : kPeaks) {
            per_token_cast(x(p, where), p.output(to, {kRows, h}), factors(p, f, kRows, groups),
                           args);
          }
        });
      }
      cases.add("per_token_cast_with_sf_only", what, [=](Place& p) {
        for (const Peaks where : kPeaks) {
          per_token_cast_with_sf_only(x(p, where), f8_e4m3, factors(p, f, kRows, groups), args);
        }
      });
      cases.add("per_token_cast_with_precomputed_sf", what, [=](Place& p) {
        const Tensor given =
            f == i32 ? factors(p, f32, kRows, groups) : factors(p, f, kRows, groups);
        assign(given, std::vector<double>(static_cast<size_t>(given.numel()), 0.5));
        per_token_cast_with_precomputed_sf(x(p, Peaks::first), given, p.output(f8_e4m3, {kRows, h}),
                                           args);
      });
    }
  }
  for (const DType dtype : {f8_e4m3, f4_e2m1}) {
    cases.add("per_token_cast", format("{} again", dtype), [=](Place& p) {
      for (const Peaks where : kPeaks) {
        const Tensor x_sf = p.input(f32, {17, 2}, 1, 9), x = p.peaks(dtype, {17, 256}, 32, where);
        // Zeros whose factor times the inverse is infinite.
        assign(x.slice(0, 16, 1), std::vector<double>(256, 0.0));
        assign(x_sf.slice(0, 16, 1), {0x1p120, 0x1p120});
        per_token_cast(x, p.output(f8_e4m3, {17, 256}), factors(p, i32, 17, 8),
                       {.group = 32, .round_sf = true, .x_sf = &x_sf});
      }
    });
  }
}

/// x whose blocks of rows x columns have their largest magnitude in the first or last element, or
/// in one that differs from block to block.
Tensor peaked(Place& p, DType dtype, int64_t m, int64_t k, int64_t rows, int64_t columns,
              int turn) {
  const Tensor x = p.input(dtype, {m, k});
  for (int64_t i = 0; i < m; i += rows) {
    for (int64_t j = 0; j < k; j += columns) {
      const int64_t height = std::min(rows, m - i), width = std::min(columns, k - j);
      const int64_t n = i / rows + j / columns;
      const int64_t at_i = turn == 0 ? 0 : turn == 1 ? height - 1 : (n * 5 + 17) % height;
      const int64_t at_j = turn == 0 ? 0 : turn == 1 ? width - 1 : (n * 11 + 9) % width;
      const auto value = static_cast<double>(3 + n);
      assign(x.slice(0, i + at_i, 1).slice(1, j + at_j, 1), {turn == 1 ? -value : value});
    }
  }
  return x;
}

void add_block_casts(Cases& cases) {
  struct Form {
    int64_t rows, columns, m, k;
    DType x, to, sf;
  };
  for (const Form& f : {Form{128, 128, 131, 253, bf16, f8_e4m3, f32},
                        {32, 32, 37, 288, bf16, f8_e4m3, i32},
                        {32, 32, 37, 320, f32, f4_e2m1, i32},
                        {128, 32, 131, 96, bf16, f4_e2m1, f32},
                        {32, 128, 37, 320, f32, f8_e4m3, f32}}) {
    const int64_t down = cdiv(f.m, f.rows), across = cdiv(f.k, f.columns);
    const BlockCastArgs args{.rows = f.rows, .columns = f.columns, .round_sf = f.sf == i32};
    const std::string what =
        format("{} to {} in {} x {}, factors {}", f.x, f.to, f.rows, f.columns, f.sf);
    const auto x = [=](Place& p, int turn) {
      return left(peaked(p, f.x, f.m, up(f.k), f.rows, f.columns, turn), f.k);
    };
    cases.add("per_block_cast", what, [=](Place& p) {
      for (const int turn : {0, 1, 2}) {
        per_block_cast(x(p, turn), left(p.output(f.to, {f.m, up(f.k)}), f.k),
                       factors(p, f.sf, down, across), args);
      }
    });
    cases.add("per_block_cast_with_sf_only", what, [=](Place& p) {
      for (const int turn : {0, 1, 2}) {
        per_block_cast_with_sf_only(x(p, turn), f.to, factors(p, f.sf, down, across), args);
      }
    });
    cases.add("per_block_cast_with_precomputed_sf", what, [=](Place& p) {
      per_block_cast_with_precomputed_sf(x(p, 2), p.input(f32, {down, across}, 0.5, 3),
                                         left(p.output(f.to, {f.m, up(f.k)}), f.k), args);
    });
  }
}

void add_channel_casts(Cases& cases) {
  struct Form {
    DType x, sf;
    int64_t group, m, k, x_columns;
    bool gathers;
  };
  for (const Form& f : {Form{bf16, f32, 128, 131, 141, 0, false},
                        {f32, i32, 32, 163, 141, 0, false},
                        {bf16, i32, 32, 147, 136, 0, true},
                        {f8_e4m3, f32, 128, 131, 160, 32, false}}) {
    const std::string what =
        format("{}, factors {} of {}{}", f.x, f.sf, f.group, f.gathers ? ", gathered" : "");
    const auto run = [=](Place& p, bool turns) {
      for (const int turn : {0, 1, 2}) {
        const Tensor x = left(peaked(p, f.x, f.m, up(f.k), f.group, 1, turn), f.k);
        if (f.gathers) {  // the first row isn't one of the last group, where it would show
          assign(x.slice(0, 0, 1), std::vector<double>(static_cast<size_t>(f.k), 999));
        }
        const int64_t blocks = cdiv(f.m, f.group);
        const Tensor sf = p.output(f.sf, {f.sf == i32 ? cdiv(blocks, 4) : blocks, f.k});
        const Tensor x_sf = p.input(f32, {f.m, cdiv(f.k, 32)}, 1, 9);
        std::vector<double> rows;
        for (int64_t i = 0; i < f.m; ++i) {
          rows.push_back(static_cast<double>(i % 9 == 4 ? -1 : (i + 64) % f.m));
        }
        const Tensor index = p.holding(i32, {f.m}, rows);
        const ChannelCastArgs args{.group = f.group,
                                   .round_sf = f.sf == i32,
                                   .x_sf = f.x_columns == 0 ? nullptr : &x_sf,
                                   .x_columns = f.x_columns,
                                   .index = f.gathers ? &index : nullptr};
        if (turns) {
          const Tensor q = left(p.output(f8_e4m3, {f.k, up(f.m)}), f.m);
          per_channel_cast_and_transpose(x, q, sf, args);
        } else {
          per_channel_cast(x, left(p.output(f8_e4m3, {f.m, up(f.k)}), f.k), sf, args);
        }
      }
    };
    cases.add("per_channel_cast", what, [=](Place& p) { run(p, false); });
    cases.add("per_channel_cast_and_transpose", what, [=](Place& p) { run(p, true); });
  }
}

void add_casts_back(Cases& cases) {
  struct Form {
    DType q, y, sf;
    int64_t rows, columns, m, k;
  };
  for (const Form& f : {Form{f8_e4m3, bf16, f32, 1, 128, 127, 576},
                        {f4_e2m1, bf16, f32, 1, 32, 127, 576},
                        {f4_e2m1, f32, f8_e4m3, 1, 16, 127, 320},
                        {f8_e4m3, f32, f32, 32, 1, 69, 192},
                        {f8_e4m3, bf16, f32, 128, 128, 131, 200},
                        {f8_e4m3, bf16, f32, 1, 24, 127, 253}}) {
    cases.add("cast_back", format("{} to {} by {} of {} x {}", f.q, f.y, f.sf, f.rows, f.columns),
              [=](Place& p) {
                cast_back(left(p.input(f.q, {f.m, up(f.k)}, -6, 6), f.k),
                          p.input(f.sf, {cdiv(f.m, f.rows), cdiv(f.k, f.columns)}, 1, 9),
                          left(p.output(f.y, {f.m, up(f.k)}), f.k),
                          {.rows = f.rows, .columns = f.columns});
              });
  }
}

void add_lossless_casts(Cases& cases) {
  for (const LosslessCastArgs& a :
       {LosslessCastArgs{1, 32, 32, 32}, {1, 32, 128, 128}, {1, 32, 1, 128}}) {
    const auto sf = [](Place& p, bool fits, int least) {  // few of a block are its largest
      std::mt19937 random(1);
      std::vector<double> list;
      for (int i = 0; i < 133 * 9; ++i) {
        const int above = std::min(std::countl_zero(static_cast<uint32_t>(random())), 11);
        list.push_back(std::exp2(least + above));
      }
      if (!fits) list.front() = std::exp2(least + 20);
      return p.holding(f32, {133, 9}, list);
    };
    const auto run = [=](Place& p, bool fits) {
      const int64_t down = cdiv(133, a.rows), across = cdiv(288, a.columns);
      for (const int least : {-6, -124}) {  // exponents of results that are 0, too
        per_block_cast_lossless(p.input(f4_e2m1, {133, 288}, -6, 6), sf(p, fits, least),
                                p.output(f8_e4m3, {133, 288}), factors(p, i32, down, across), a);
      }
    };
    const std::string what = format("to {} x {}", a.rows, a.columns);
    cases.add("per_block_cast_lossless", what, [=](Place& p) { run(p, true); });
    cases.stops("per_block_cast_lossless", what + ", too far apart",
                [=](Place& p) { run(p, false); });
  }
}

void add_weight_factors(Cases& cases) {
  for (const int64_t size : {32, 128}) {
    const int64_t block = size;
    const auto run = [=](Place& p, bool are_powers) {
      std::vector<double> list;
      for (int i = 0; i < 2 * 17 * 19; ++i) list.push_back(std::exp2(i * 7 % 41 - 20));
      if (!are_powers) list.back() = 3;
      transpose_weight_sf(p.holding(f32, {2, 17, 19}, list), p.output(i32, {2, 5, 17 * block}),
                          p.output(i32, {2, 5, 19 * block}), block);
    };
    const std::string what = format("blocks of {}", block);
    cases.add("transpose_weight_sf", what, [=](Place& p) { run(p, true); });
    cases.stops("transpose_weight_sf", what + ", no power of two",
                [=](Place& p) { run(p, false); });
  }
}

void add_fake_casts(Cases& cases) {
  for (const auto& [x, to, group] : {std::tuple(bf16, f8_e4m3, 128), std::tuple(f32, f4_e2m1, 16),
                                     std::tuple(bf16, f4_e2m1, 32)}) {
    const DType dtype = x, through = to;
    const FakeCastArgs args{.group = group, .round_sf = group == 32, .e4m3_sf = group == 16};
    cases.add("per_token_cast_and_cast_back", format("{} through {}", x, to), [=](Place& p) {
      for (const Peaks where : kPeaks) {
        per_token_cast_and_cast_back(left(p.peaks(dtype, {29, 400}, args.group, where), 384),
                                     through, args);
      }
    });
  }
}

void add_casts(Cases& cases) {
  for (const auto& [from, to] :
       {std::pair(f32, bf16), std::pair(bf16, f32), std::pair(f32, f8_e4m3), std::pair(f64, f16),
        std::pair(f8_e5m2, bf16)}) {
    const DType x = from, y = to;
    cases.add("cast", format("{} to {}", x, y), [=](Place& p) {
      for (const Work work : kWorks) {
        const WithWork scope(work);
        for (const int64_t n : {8080, 8093, 8195}) {
          cast(p.input(x, {n}, -500, 500), p.output(y, {n}));
        }
        for (const auto& [n, h] : tiled_rows(std::max(x.bits(), y.bits()), vectors_of(work))) {
          cast(left(p.input(x, {n, h + 3}), h), left(p.output(y, {n, h + 19}), h));
        }
      }
    });
  }
}

void add_products(Cases& cases) {
  // Blocks at each edge and at both, and a whole one; parts of a step along k, one step and two.
  const std::vector<std::array<int64_t, 3>> sizes = {
      {61, 9, 3}, {5, 137, 64}, {67, 125, 64}, {67, 125, 0}, {64, 128, 75}};
  for (const auto& [type, transposes] :
       {std::pair(f32, 0), std::pair(f32, 2), std::pair(bf16, 0), std::pair(bf16, 3)}) {
    const DType dtype = type;
    const bool trans_a = (transposes & 1) != 0, trans_b = (transposes & 2) != 0;
    cases.add(
        "gemm",
        format("{}{}{}", dtype, trans_a ? ", a transposed" : "", trans_b ? ", b transposed" : ""),
        [=](Place& p) {
          for (const auto& [m, n, k] : sizes) {
            gemm(left(p.input(dtype, trans_a ? Shape{k, up(m)} : Shape{m, up(k)}), trans_a ? m : k),
                 left(p.input(dtype, trans_b ? Shape{n, up(k)} : Shape{k, up(n)}), trans_b ? k : n),
                 left(p.output(dtype, {m, up(n)}), n), {.trans_a = trans_a, .trans_b = trans_b});
          }
        });
  }
  cases.add("gemm", "bf16 to f32, epilogue", [=](Place& p) {
    for (const auto& [m, n, k] : sizes) {
      const Tensor bias = p.input(f32, {n}), residual = left(p.input(f32, {m, up(n)}), n);
      gemm(left(p.input(bf16, {m, up(k)}), k), left(p.input(bf16, {k, up(n)}), n),
           left(p.output(f32, {m, up(n)}), n),
           {.activation = Activation::gelu, .bias = &bias, .residual = &residual});
    }
  });
  cases.add("batched_gemm", "f32, epilogue", [=](Place& p) {
    for (const auto& [m, n, k] : sizes) {
      const int64_t batch = n == 9 ? 2 : 1;
      const Tensor bias = p.input(f32, {n}), residual = left(p.input(f32, {batch, m, up(n)}), n);
      batched_gemm(left(p.input(f32, {batch, m, 80}), k), left(p.input(f32, {batch, k, up(n)}), n),
                   left(p.output(f32, {batch, m, up(n)}), n),
                   {.activation = Activation::silu, .bias = &bias, .residual = &residual});
    }
  });
  cases.add("batched_gemm", "bf16, b transposed", [=](Place& p) {
    for (const auto& [m, n, k] : sizes) {
      const int64_t batch = n == 9 ? 2 : 1;
      batched_gemm(left(p.input(bf16, {batch, m, 80}), k), left(p.input(bf16, {batch, n, 80}), k),
                   left(p.output(bf16, {batch, m, up(n)}), n), {.trans_b = true});
    }
  });
  cases.add("gemm_fp8", "to bf16", [](Place& p) {
    for (const auto& [m, n, k] : {std::tuple(5, 9, 7), std::tuple(125, 128, 128),
                                  std::tuple(131, 125, 128), std::tuple(128, 128, 131)}) {
      const int64_t groups = (k + 127) / 128;
      gemm_fp8(left(p.input(f8_e4m3, {m, up(k)}), k), p.input(f32, {m, groups}, 0.25, 1),
               left(p.input(f8_e4m3, {n, up(k)}), k), p.input(f32, {1, groups}, 0.25, 1),
               left(p.output(bf16, {m, up(n)}), n));
    }
  });
}

/// Sets the first of d elements of some tokens of [.., tokens, heads, d].
void set_first(const Tensor& t, int64_t token, int64_t count, double number) {
  const Tensor part = t.slice(t.rank() - 3, token, count).slice(t.rank() - 1, 0, 1);
  assign(part, std::vector<double>(static_cast<size_t>(part.numel()), number));
}

/// Some keys get the highest scores, so that what was added up before is scaled down. Some queries
/// get none but -inf: nothing is added up for them.
void set_scores(const Tensor& q, const Tensor& k, const std::vector<std::pair<int, int>>& loud,
                const std::vector<int64_t>& blind) {
  for (const auto& [token, count] : loud) {
    const Tensor keys = k.slice(k.rank() - 3, token, count);
    std::vector<double> numbers = values(keys);
    for (double& number : numbers) number *= 3;
    assign(keys, numbers);
  }
  set_first(k, 0, k.dim(-3), 2);
  for (const int64_t token : blind) {
    const Tensor query = q.slice(q.rank() - 3, token, 1);
    assign(query, std::vector<double>(static_cast<size_t>(query.numel()), 0));
    set_first(q, token, 1, -3e38);
  }
}

void add_attention(Cases& cases) {
  for (const DType dtype : {f32, bf16}) {
    for (const bool causal : {dtype == f32}) {
      const char* how = causal ? ", causal" : "";
      cases.add("attention", format("{}{}", dtype, how), [=](Place& p) {
        // More queries than keys: with causal some see none.
        for (const auto& [b, sq, sk] :
             {std::tuple(1, 5, 70), std::tuple(2, 78, 3), std::tuple(1, 67, 131)}) {
          const Tensor lse = p.output(f32, {b, 2, sq});
          const std::vector<double> list = {200, -70};  // more keys than there are, and none
          const Tensor lengths = p.holding(i32, {b}, {list.begin(), list.begin() + b});
          const Tensor q = p.input(dtype, {b, sq, 2, 8}), k = p.input(dtype, {b, sk, 1, 8}),
                       v = p.input(dtype, {b, sk, 1, 8});
          if (sk == 131) {
            set_scores(q, k, {{64, 67}}, {9, 66});
            // The first tile of queries doesn't come to the last key.
            if (causal) set_first(v, 130, 1, INFINITY);
          }
          attention(q, k, v, p.output(dtype, {b, sq, 2, 8}),
                    {.causal = causal, .key_lengths = &lengths, .lse = &lse});
        }
      });
      cases.add("attention_packed", format("{}{}", dtype, how), [=](Place& p) {
        for (const auto& [longest, list] :
             {std::pair(5, std::vector<double>{0, 3, 3, 8}),
              std::pair(90, std::vector<double>{0, 70, 75, 165}),
              // Sequences that leave the tensors: nothing outside is read or written.
              std::pair(90, std::vector<double>{-3, 64, 60, 80, 150, 160})}) {
          const int64_t tokens = list[0] < 0 ? 131 : static_cast<int64_t>(list.back());
          const Shape shape{tokens, longest == 5 ? 2 : 1, 8};
          const Tensor q = p.input(dtype, shape), k = p.input(dtype, shape),
                       v = p.input(dtype, shape);
          if (tokens == 165) {
            set_scores(q, k, {{56, 14}, {139, 26}}, {9, 66, 69, 74});
            if (causal) set_first(v, 69, 1, INFINITY);
          }
          attention_packed(q, k, v, p.holding(i32, {static_cast<int64_t>(list.size())}, list),
                           longest, p.output(dtype, shape), {.causal = causal});
        }
      });
      cases.last().facts = {"batch == 1"};
      cases.stops("attention_packed", format("{}{}, too long", dtype, how), [=](Place& p) {
        attention_packed(p.input(dtype, {90, 2, 8}), p.input(dtype, {90, 2, 8}),
                         p.input(dtype, {90, 2, 8}), p.holding(i32, {2}, {0, 90}), 70,
                         p.output(dtype, {90, 2, 8}), {.causal = causal});
      });
    }
  }
}

void add_rotary(Cases& cases) {
  for (const DType dtype : {f32, bf16}) {
    for (const bool interleaved : {false, true}) {
      const char* pairs = interleaved ? "neighbors" : "halves";
      cases.add("apply_rotary", format("{}, {}", dtype, pairs), [=](Place& p) {
        // Some positions are outside, before and behind.
        for (const auto& [heads, offset] : {std::pair(3, 1), std::pair(33, -1), std::pair(33, 1)}) {
          const Tensor positions = p.holding(i32, {2, 2}, {4, -9, 0, 20}),
                       x = p.updated(p.input(dtype, {2, 2, heads, 72}));
          const int64_t rows = heads == 3 ? 8 : 2;
          apply_rotary(x.slice(3, 8, 64), left(p.input(f32, {rows, 68}), 64),
                       {.positions = heads == 3 ? &positions : nullptr,
                        .offset = offset,
                        .interleaved = interleaved,
                        .conjugate = heads == 3});
        }
      });
    }
  }
}

/// Numbers from `low` to below `high`, in no order.
std::vector<double> some_numbers(int64_t count, int64_t low, int64_t high) {
  std::mt19937_64 random(7);
  std::vector<double> list;
  for (int64_t i = 0; i < count; ++i) {
    list.push_back(static_cast<double>(low) +
                   static_cast<double>(random() % static_cast<uint64_t>(high - low)));
  }
  return list;
}

/// Maps of 32 tokens with 3 experts each in a fused layout. Four tokens have no expert, four only
/// positions behind the layout, and the first positions are those of late tokens.
struct FusedRows {
  explicit FusedRows(Place& p) {
    const std::vector<double> numbers = some_numbers(3 * t, -1, 5);
    reference::Ints experts;
    for (size_t i = 0; i < numbers.size(); ++i) {
      const auto e = static_cast<int64_t>(numbers[i]);
      experts.push_back(i / 12 == 1 || i / 12 == 2 || (i < 60 && e == 0) ? -1 : e);
    }
    auto maps = reference::fused_mapping(experts, 3, 5, 7);
    np = static_cast<int64_t>(maps.pos_to_expert.size());
    for (size_t i = 12; i < 24; ++i) maps.token_topk_to_pos[i] = np + static_cast<int64_t>(i) - 12;
    const auto list = [](const reference::Ints& v) {
      return std::vector<double>(v.begin(), v.end());
    };
    token_topk_to_pos = p.holding(i32, {t, 3}, list(maps.token_topk_to_pos));
    pos_to_expert = p.holding(i32, {np}, list(maps.pos_to_expert));
  }
  int64_t t = 32, np;
  Tensor token_topk_to_pos, pos_to_expert;
};

/// Positions of 4 tokens with 11 experts each, more than are known at once, in a layout of 12;
/// those of the third are behind it.
Tensor many_positions(Place& p) {
  std::vector<double> list = {4,  -1, 5,  6,  -1, 7, 8,  9,  -1, 10, 11,
                              -1, 3,  -1, -1, 0,  2, -1, -1, 1,  -1, -1};
  for (int i = 0; i < 11; ++i) list.push_back(14 + i);
  list.insert(list.end(), 11, -1);
  return p.holding(i32, {4, 11}, list);
}

void add_fused_rows(Cases& cases) {
  for (const DType dtype : {u8, bf16}) {
    cases.add("expand_to_fused", to_text(dtype), [=](Place& p) {
      for (const int64_t h : {77, 80, 2320}) {
        const FusedRows maps(p);
        const Tensor x = p.input(dtype, {maps.t, h}, 1, 99);
        for (const int64_t np : {maps.np, int64_t{3}}) {  // more, and less than there are tokens
          expand_to_fused(x, maps.token_topk_to_pos, maps.pos_to_expert.slice(0, 0, np),
                          p.output(dtype, {np, h}));
        }
        // No tokens, so that any positions may be padding.
        expand_to_fused(x.slice(0, 0, 0), maps.token_topk_to_pos.slice(0, 0, 0),
                        p.holding(i32, {9}, {0, -1, 0, -1, 0, -1, 0, -1, 0}),
                        p.output(dtype, {9, h}));
      }
    });
  }
  cases.add("expand_to_fused", "many experts, rows in parts", [](Place& p) {
    std::vector<double> experts(12, 0);
    experts.insert(experts.end(), {-1, -1});
    const Tensor x = p.input(f32, {4, 8208}), pos = many_positions(p),
                 pos_to_expert = p.holding(i32, {14}, experts);
    for (const int64_t np : {14, 1}) {
      expand_to_fused(x, pos, pos_to_expert.slice(0, 0, np), p.output(f32, {np, 8208}));
    }
  });
  for (const DType sf_dtype : {f32, i32}) {
    cases.add("expand_to_fused_with_sf", to_text(sf_dtype), [=](Place& p) {
      const FusedRows maps(p);
      const int64_t n = sf_dtype == f32 ? 5 : 2;
      const Tensor x = p.input(f8_e4m3, {maps.t, 580}), sf = p.input(sf_dtype, {maps.t, n}, 1, 99);
      for (const int64_t np : {maps.np, int64_t{3}}) {
        const Tensor out_sf = sf_dtype == f32  // packed ones in columns
                                  ? p.output(f32, {np, n})
                                  : p.output(i32, {n, np + 4}).transpose(0, 1).slice(0, 0, np);
        expand_to_fused_with_sf(x, sf, 128, maps.token_topk_to_pos,
                                maps.pos_to_expert.slice(0, 0, np), p.output(f8_e4m3, {np, 580}),
                                out_sf);
      }
    });
  }
  for (const auto& [from, to] :
       {std::pair(bf16, bf16), std::pair(f32, f32), std::pair(f8_e4m3, f8_e4m3)}) {
    const DType dtype = from, result = to;
    cases.add("reduce_fused", format("{} to {}", dtype, result), [=](Place& p) {
      for (const int64_t h : {256, 768}) {
        const FusedRows maps(p);
        reduce_fused(p.input(dtype, {maps.np, h}), maps.token_topk_to_pos,
                     p.output(result, {maps.t, h}));
      }
    });
  }
  cases.add("reduce_fused", "bf16 to e4m3, factors", [](Place& p) {
    const FusedRows maps(p);
    const Tensor weights = p.input(f32, {maps.t, 3}), x_sf = p.input(f32, {maps.np}),
                 sf = p.input(f32, {1}, 100, 200);
    reduce_fused(p.input(bf16, {maps.np, 768}), maps.token_topk_to_pos,
                 p.output(f8_e4m3, {maps.t, 768}),
                 {.topk_weights = &weights, .x_sf = &x_sf, .sf = &sf});
  });
  cases.add("reduce_fused", "many experts", [](Place& p) {
    const Tensor weights = p.input(f32, {4, 11});
    reduce_fused(p.input(f32, {12, 256}), many_positions(p), p.output(f32, {4, 256}),
                 {.topk_weights = &weights});
  });
}

void add_experts(Cases& cases) {
  for (const DType dtype : {i64, i32}) {
    cases.add("mask_indices_by_tp", to_text(dtype), [=](Place& p) {
      for (const int64_t t : {1, 171, 280, 343, 685}) {
        for (const double last : {-1, -7, -13, 6, 0}) {  // behind the last vector
          std::vector<double> list = some_numbers(3 * t, -40, 96);
          list.back() = last;
          mask_indices_by_tp(p.holding(dtype, {t, 3}, list), {96, 16, 0, 3},
                             p.output(dtype, {t, 3}));
        }
      }
    });
  }
  cases.add("inplace_unique_group_indices", "i64", [](Place& p) {
    for (const auto& [t, k] : {std::pair(129, 6), std::pair(70, 12)}) {
      std::vector<double> list = some_numbers(t * k, -2, 4);
      for (size_t i = 0; i < list.size(); i += 3) list[i] += 64;
      inplace_unique_group_indices(p.updated(p.holding(i64, {t, k}, list)), 72);
    }
  });
  cases.stops("inplace_unique_group_indices", "groups outside", [](Place& p) {
    for (const int64_t k : {6, 12}) {
      const std::vector<double> list(static_cast<size_t>(2 * k), 64);
      inplace_unique_group_indices(p.updated(p.holding(i64, {2, k}, list)), 64);
    }
  });
  // Of 9000 no block counts by itself.
  for (const int64_t groups : {9, 40, 9000}) {
    const auto numbers = [=](int64_t t) {
      return some_numbers(3 * t, -3, std::min<int64_t>(groups, 90));
    };
    cases.add("group_count", format("{} groups", groups), [=](Place& p) {
      for (const int64_t t : {1, 1300}) {
        group_count(p.holding(i64, {t, 3}, numbers(t)), p.output(i32, {groups}));
      }
    });
    cases.add("aux_fi", format("{} experts", groups), [=](Place& p) {
      for (const int64_t t : {1, 1300}) {
        aux_fi(p.holding(i64, {t, 3}, numbers(t)), 3, p.output(f32, {groups}));
      }
    });
    cases.stops("group_count", format("outside {} groups", groups), [=](Place& p) {
      const auto outside = static_cast<double>(groups);
      group_count(p.holding(i64, {1, 2}, {0, outside}), p.output(i32, {groups}));
    });
    cases.stops("aux_fi", format("outside {} experts", groups), [=](Place& p) {
      const auto outside = static_cast<double>(groups);
      aux_fi(p.holding(i64, {1, 2}, {0, outside}), 3, p.output(f32, {groups}));
    });
  }
  const auto mapping = [](Place& p, int64_t t, int64_t experts, int64_t np,
                          const std::vector<double>& list) {
    const Shape scratch = fused_mapping_scratch(3 * t, experts);
    const Tensor pos[] = {p.output(i32, {np}), p.output(i32, {np}), p.output(i32, {np})},
                 of_expert[] = {p.output(i32, {experts}), p.output(i32, {experts}),
                                p.output(i32, {experts})},
                 of_pair = p.output(i32, {t, 3});
    get_fused_mapping(
        p.holding(i64, {t, 3}, list), 4,
        {pos[0], pos[1], pos[2], of_pair, of_expert[0], of_expert[1], of_expert[2]},
        p.holding(i32, scratch, std::vector<double>(static_cast<size_t>(scratch.numel()), 0)));
  };
  for (const int64_t experts : {30, 40}) {
    cases.add("get_fused_mapping", format("{} experts", experts), [=](Place& p) {
      for (const auto& [t, np] :
           {std::pair(1, 2), std::pair(200, 1100), std::pair(170, 200), std::pair(0, 5)}) {
        std::vector<double> list = some_numbers(3 * t, -1, experts);
        if (t > 0) list[0] = -0x1p32;  // 0 in its low half
        mapping(p, t, experts, np, list);
      }
      // More chunks than are summed up at a time.
      if (experts == 30) mapping(p, 87500, 2, 9, some_numbers(3 * 87500, -1, 2));
    });
  }
  cases.stops("get_fused_mapping", "experts outside",
              [=](Place& p) { mapping(p, 1, 9, 20, {0, -1, 9}); });
}

}  // namespace

std::array<Tensor, 2> peaks_in_lists(Place& p, DType dtype, int64_t h, double nothing) {
  const int64_t apart = 32 * cdiv(h, 256), length = cdiv(h, apart);
  const Tensor one = p.input(dtype, {32, h}, -3, -2);
  const Tensor both = p.input(dtype, {64, h}, -3, -2);
  std::mt19937 random;
  const auto any = [&](const std::vector<double>& of) { return of[random() % of.size()]; };
  std::vector<double> all = {1, 2, 3, 4, 5};
  for (int64_t row = 0; row < 64; ++row) {
    std::ranges::shuffle(all, random);
    for (int64_t i = 0; i < length; ++i) {
      const int64_t column = row * 5 % 7 + i * apart;
      if (row < 32) {
        assign(one.slice(0, row, 1).slice(1, column, 1), {static_cast<double>(row >> i & 1)});
      }
      const std::vector<double> few = {-0.0, 0.0, nothing},
                                many = {-0.0, 0.0, nothing, 1, 2, 3, 4, 5};
      const std::vector<double> others = {nothing, 1.5, 2.5, 3.5, 9};
      std::vector<double> pair = {any(i < 2 ? others : few), all[static_cast<size_t>(i)]};
      if (row % 8 == 0) pair = {any(few), any(few)};
      if (row % 8 == 1) pair = {any(many), any(many)};
      assign(both.slice(0, row, 1).slice(1, column, 2), pair);
    }
  }
  return {one, both};
}

std::vector<LibraryCase> library_cases() {
  Cases cases;
  add_activations(cases);
  add_elementwise(cases);
  add_moves(cases);
  add_norms(cases);
  add_folds(cases);
  add_argmax(cases);
  add_top_k(cases);
  add_rows(cases);
  add_rotary(cases);
  add_experts(cases);
  add_fused_rows(cases);
  add_token_casts(cases);
  add_block_casts(cases);
  add_channel_casts(cases);
  add_casts_back(cases);
  add_lossless_casts(cases);
  add_weight_factors(cases);
  add_fake_casts(cases);
  add_casts(cases);
  add_products(cases);
  add_attention(cases);
  add_gates(cases);
  return std::move(cases.all_);
}

std::set<std::string> declared_functions() {
  std::set<std::string> names;
  const std::regex declaration(R"(\nvoid (\w+)\(const Tensor& )");
  for (const auto& file : std::filesystem::directory_iterator(source_path("tilewright/kernels"))) {
    if (file.path().extension() != ".h") continue;
    const std::string text = read_file(file.path().string());
    for (std::sregex_iterator at(text.begin(), text.end(), declaration), end; at != end; ++at) {
      names.insert((*at)[1]);
    }
  }
  return names;
}

}  // namespace tw::test
