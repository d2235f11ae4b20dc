// Calls of casts with scale factors: where the largest magnitude of a block is.
#include "tilewright/kernels/quant.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>
#include <tuple>

#include "tests/kernels/tensors.h"
#include "tests/mutate/cases.h"
#include "tilewright/base/format.h"
#include "tilewright/kernels/work.h"
#include "tilewright/lang/math.h"

namespace tw::test {
namespace {

using namespace kernels;
using lang::cdiv;

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
  // In the last, rows of bf16 fill a block.
  for (const auto& [sf, k, group] :
       {Form{f32, 576, 128}, {i32, 576, 128}, {f8_e4m3, 320, 16}, {i32, 2048, 32}}) {
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
          if (f != f8_e4m3) return;
          const Tensor ties = left(p.input(dtype, {kRows, h + 16}), h);  // of a factor of 15 / 8
          assign(ties.slice(0, 0, 1).slice(1, 0, 4), {11.25, 2.34375, 4.6875, 9.375});
          per_token_cast(ties, p.output(to, {kRows, h}), factors(p, f, kRows, groups), args);
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
  cases.add("per_token_cast_with_sf_only", "halves of rows", [=](Place& p) {
    for (const Peaks where : kPeaks) {
      per_token_cast_with_sf_only(p.peaks(bf16, {2, 3072}, 128, where), f8_e4m3,
                                  factors(p, i32, 2, 24), {.group = 128, .round_sf = true});
    }
  });
  cases.add("per_token_cast", "bf16 to e4m3 in tiles", [=](Place& p) {
    for (const Peaks where : kPeaks) {
      per_token_cast(p.peaks(bf16, {16, 512}, 32, where), p.output(f8_e4m3, {16, 512}),
                     factors(p, i32, 16, 16), {.group = 32, .round_sf = true});
    }
  });
  for (const DType dtype : {f8_e4m3, f4_e2m1}) {
    for (const auto& [m, k] : {std::pair<int64_t, int64_t>{17, 256}, {16, 512}}) {  // rows, tiles
      const int64_t rows = m, width = k;
      cases.add("per_token_cast", format("{} again, [{}, {}]", dtype, m, k), [=](Place& p) {
        for (const Peaks where : kPeaks) {
          const Tensor x_sf = p.input(f32, {rows, width / 128}, 1, 9);
          const Tensor x = p.peaks(dtype, {rows, width}, 32, where);
          // Zeros whose factor times the inverse is infinite.
          const auto last = [&](const Tensor& t) { return t.slice(0, rows - 1, 1).slice(1, 0, 2); };
          assign(x.slice(0, rows - 1, 1).slice(1, 0, 256), std::vector<double>(256, 0.0));
          assign(last(x_sf), {0x1p120, 0x1p120});
          per_token_cast(x, p.output(f8_e4m3, {rows, width}), factors(p, i32, rows, width / 32),
                         {.group = 32, .round_sf = true, .x_sf = &x_sf});
        }
      });
    }
  }
}

/// x whose blocks of rows x columns have their largest magnitude in the first or last element, or
/// in one that differs from block to block.
Tensor peaked(Place& p, DType dtype, int64_t m, int64_t k, int64_t rows, int64_t columns,
              int turn) {
  const Tensor x = left(p.input(dtype, {m, up(k)}), k);
  for (int64_t i = 0; i < m; i += rows) {
    for (int64_t j = 0; j < k; j += columns) {
      const int64_t height = std::min(rows, m - i), width = std::min(columns, k - j);
      const int64_t n = i / rows + j / columns;
      const int64_t more = 9 * (turn - 2);
      const int64_t at_i = turn == 0 ? 0 : turn == 1 ? height - 1 : (n * 5 + 17 + more) % height;
      const int64_t at_j = turn == 0 ? 0 : turn == 1 ? width - 1 : (n * 11 + 9 + more) % width;
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
      return peaked(p, f.x, f.m, f.k, f.rows, f.columns, turn);
    };
    cases.add("per_block_cast", what, [=](Place& p) {
      for (const int turn : {0, 1, 2, 3}) {
        per_block_cast(x(p, turn), left(p.output(f.to, {f.m, up(f.k)}), f.k),
                       factors(p, f.sf, down, across), args);
      }
    });
    cases.add("per_block_cast_with_sf_only", what, [=](Place& p) {
      for (const int turn : {0, 1, 2, 3}) {
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
  for (const Form& f : {Form{bf16, f32, 128, 149, 141, 0, false},
                        {f32, i32, 32, 163, 141, 0, false},
                        {bf16, i32, 32, 147, 136, 0, true},
                        {f8_e4m3, f32, 128, 149, 160, 32, false},
                        {f8_e4m3, f32, 128, 128, 160, 32, false},  // of whole tiles
                        {f8_e4m3, f32, 32, 384, 288, 32, false},
                        {f8_e4m3, f32, 32, 256, 288, 32, true},  // of panels
                        {bf16, f32, 32, 128, 136, 0, false}}) {
    const std::string what = format("{} rows of {}, factors {} of {}{}", f.m, f.x, f.sf, f.group,
                                    f.gathers ? ", gathered" : "");
    const auto run = [=](Place& p, bool turns) {
      for (const int turn : {0, 1, 2}) {
        const Tensor x = peaked(p, f.x, f.m, f.k, f.group, 1, turn);
        if (f.gathers) {  // the first row isn't one of the last group, where it would show
          assign(x.slice(0, 0, 1), std::vector<double>(static_cast<size_t>(f.k), 999));
        }
        const int64_t blocks = cdiv(f.m, f.group);
        const Tensor sf = p.output(f.sf, {f.sf == i32 ? cdiv(blocks, 4) : blocks, f.k});
        const Tensor x_sf = p.input(f32, {f.m, cdiv(f.k, 32)}, 1, 9);
        std::vector<double> rows;
        for (int64_t i = 0; i < f.m; ++i) {
          rows.push_back(static_cast<double>(i % 9 == 4   ? -1
                                             : i % 9 == 7 ? f.m + i % 5
                                                          : (i + 64) % f.m));
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
    if (f.x_columns != 0 && !f.gathers && f.m % 384 == 0) {
      cases.add("per_channel_cast", what + ", blocks that stay", [=](Place& p) {
        const WithWork much(Work::much);
        run(p, false);
      });
    }
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
                        {f8_e4m3, f32, f32, 32, 1, 127, 192},
                        {f8_e4m3, bf16, f32, 128, 128, 131, 200},
                        {f8_e4m3, bf16, f32, 1, 24, 127, 253},
                        {f4_e2m1, bf16, f32, 1, 32, 5, 1024},
                        {f8_e4m3, f32, f32, 1, 128, 3, 4608}}) {
    cases.add("cast_back", format("{} to {} by {} of {} x {}", f.q, f.y, f.sf, f.rows, f.columns),
              [=](Place& p) {
                cast_back(left(p.input(f.q, {f.m, up(f.k)}, -6, 6), f.k),
                          p.input(f.sf, {cdiv(f.m, f.rows), cdiv(f.k, f.columns)}, 1, 9),
                          left(p.output(f.y, {f.m, up(f.k)}), f.k),
                          {.rows = f.rows, .columns = f.columns});
              });
  }
}

void add_lossless_casts(Cases& cases, int64_t m) {
  for (const LosslessCastArgs& a :
       {LosslessCastArgs{1, 32, 32, 32}, {1, 32, 128, 128}, {1, 32, 1, 128}, {1, 32, 128, 512}}) {
    const auto sf = [=](Place& p, bool fits, int least) {  // few of a block are its largest
      std::mt19937 random(1);
      std::vector<double> list;
      for (int i = 0; i < m * 9; ++i) {
        const int above = std::min(std::countl_zero(static_cast<uint32_t>(random())), 11);
        list.push_back(std::exp2(least + above));
      }
      if (!fits) list.front() = std::exp2(least + 20);
      return p.holding(f32, {m, 9}, list);
    };
    // One of a block is the largest, in each call another one.
    const auto peaks = [=](Place& p, int turn, int most) {
      const int64_t width = a.columns / 32;
      std::vector<double> list;
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < 9; ++j) {
          const int64_t height = std::min(a.rows, m - i / a.rows * a.rows);
          const int64_t block = i / a.rows * 5 + j / width;
          const bool is_peak = i % a.rows == (block * 37 + turn * 53 + 7) % height &&
                               j % width == (block + turn) % width;
          list.push_back(std::exp2(most - (is_peak ? 0 : 1 + (i + j) % 4)));
        }
      }
      return p.holding(f32, {m, 9}, list);
    };
    // The largest of 128 rows is in their last, and that of the next ones in their first.
    const auto at_ends = [=](Place& p) {
      std::vector<double> list(static_cast<size_t>(m * 9), 1);
      list[127 * 9 + 3] = 4;
      list[128 * 9 + 5] = 16;
      return p.holding(f32, {m, 9}, list);
    };
    const auto cast = [=](Place& p, const Tensor& sf) {
      const int64_t down = cdiv(m, a.rows), across = cdiv(288, a.columns);
      per_block_cast_lossless(p.input(f4_e2m1, {m, 288}, -6, 6), sf, p.output(f8_e4m3, {m, 288}),
                              factors(p, i32, down, across), a);
    };
    const auto run = [=](Place& p, bool fits) {
      for (const int least : {-6, -124}) cast(p, sf(p, fits, least));
      if (!fits) return;
      cast(p, peaks(p, 0, -122));  // exponents of results that are 0
      if (m > 128) cast(p, at_ends(p));
      for (const int turn : {0, 1, 2, 3, 4, 5, 6, 7}) cast(p, peaks(p, turn, 3));
    };
    const std::string what = format("{} rows to {} x {}", m, a.rows, a.columns);
    cases.add("per_block_cast_lossless", what, [=](Place& p) { run(p, true); });
    cases.stops("per_block_cast_lossless", what + ", too far apart",
                [=](Place& p) { run(p, false); });
  }
}

void add_weight_factors(Cases& cases) {
  for (const int64_t size : {32, 128}) {
    const int64_t block = size;
    const auto run = [=](Place& p, bool are_powers) {
      // One row and few columns behind whole tiles, and nearly all of both.
      for (const auto& [count, rows, columns] : {std::tuple(2, 17, 19), std::tuple(1, 31, 30)}) {
        std::vector<double> list;
        for (int i = 0; i < count * rows * columns; ++i) {
          list.push_back(std::exp2(i * 7 % 41 - 20));
        }
        if (!are_powers) list.back() = 3;
        transpose_weight_sf(p.holding(f32, {count, rows, columns}, list),
                            p.output(i32, {count, cdiv(columns, 4), rows * block}),
                            p.output(i32, {count, cdiv(rows, 4), columns * block}), block);
      }
    };
    const std::string what = format("blocks of {}", block);
    cases.add("transpose_weight_sf", what, [=](Place& p) { run(p, true); });
    cases.stops("transpose_weight_sf", what + ", no power of two",
                [=](Place& p) { run(p, false); });
  }
}

/// Words as bytes, which begin at multiples of words.
Tensor bytes_of(const Tensor& words) {
  return {
      words.data(), u8, {words.dim(0), 4 * words.dim(1)}, {4 * words.stride(0), 1}, words.device()};
}

void add_casts_to_e5m6(Cases& cases) {
  struct Form {
    DType x, sf;
    int64_t k;
  };
  // A block has eight rows of 200. Those of 3576 are two strips, of which the last lacks one run.
  constexpr int64_t kRows = 15;
  for (const Form& f : {Form{bf16, i32, 1024},
                        {bf16, i32, 200},
                        {bf16, i32, 3576},
                        {bf16, f32, 1032},
                        {f32, f32, 200},
                        {f32, i32, 3576}}) {
    const int64_t words = f.k / 8 * 3;
    cases.add("per_token_cast_to_e5m6", format("{} rows of {}, factors {}", f.x, f.k, f.sf),
              [=](Place& p) {
                const auto cast = [&](const Tensor& x) {
                  per_token_cast_to_e5m6(left(x, f.k),
                                         bytes_of(left(p.output(u32, {kRows, words + 4}), words)),
                                         p.output(f.sf, {kRows, 1}), f.sf == i32);
                };
                for (const Peaks where : kPeaks) {
                  // With gaps between rows, and without.
                  const int64_t gap = where == Peaks::first ? 0 : 8;
                  cast(p.peaks(f.x, {kRows, f.k + gap}, f.k, where));
                }
                const Tensor wild = p.input(f.x, {kRows, f.k});
                assign(wild.slice(1, f.k / 2 - 1, 1), std::vector<double>(kRows, 7.0));
                // At most one row of a block is infinite.
                for (const auto& [row, number] : {std::pair<int64_t, double>{1, INFINITY},
                                                  {3, NAN},
                                                  {9, -static_cast<double>(INFINITY)}}) {
                  assign(wild.slice(0, row, 1),
                         std::vector<double>(static_cast<size_t>(f.k), number));
                }
                cast(wild);
                // Rows whose largest is beyond that of a code.
                const Tensor large = p.input(f.x, {kRows, f.k});
                assign(large.slice(1, f.k / 2 - 1, 1), std::vector<double>(kRows, 0x1p17));
                cast(large);
              });
  }
  // A row that isn't held: the largest is in each of the strips, or nothing is finite.
  cases.add("per_token_cast_to_e5m6", "a long row", [](Place& p) {
    constexpr int64_t kWidth = 16128, kStrip = 1792;
    const auto cast = [&](const Tensor& x) {
      per_token_cast_to_e5m6(x, bytes_of(p.output(u32, {1, kWidth / 8 * 3})),
                             p.output(f32, {1, 1}));
    };
    for (int64_t strip = 0; strip < kWidth / kStrip; ++strip) {
      for (const int64_t place : {int64_t{0}, strip * 219 + 23}) {
        const Tensor x = p.input(bf16, {1, kWidth});
        assign(x.slice(1, strip * kStrip + place, 1), {77});
        cast(x);
      }
    }
    for (const double all : {static_cast<double>(INFINITY), -static_cast<double>(INFINITY),
                             static_cast<double>(NAN)}) {
      cast(p.holding(bf16, {1, kWidth}, std::vector<double>(kWidth, all)));
    }
  });
}

void add_casts_back_from_e5m6(Cases& cases) {
  struct Form {
    DType y, sf;
    int64_t tile, k, rows, columns;
  };
  // Blocks that are as long as rows, lie in tiles, or cross them; two tiles of rows, of which one
  // is nearly empty, or nearly whole. Rows that fill a block.
  for (const Form& f : {Form{bf16, f32, 64, 576, 1, 576},
                        {bf16, f32, 1, 2048, 1, 2048},
                        {f32, i32, 2, 2560, 32, 128},
                        {f32, i32, 64, 200, 32, 24},
                        {bf16, f32, 8, 512, 32, 32},
                        {bf16, f32, 64, 72, 3, 5},
                        {f32, f32, 64, 72, 32, 1}}) {
    cases.add("cast_back_e5m6", format("{}, factors {} of {} x {}", f.y, f.sf, f.rows, f.columns),
              [=](Place& p) {
                for (const int64_t m : {f.tile + 1, 2 * f.tile - 1}) {
                  const int64_t words = f.k / 8 * 3;
                  const int64_t down = cdiv(m, f.rows), across = cdiv(f.k, f.columns);
                  const Tensor q = left(p.input(u32, {m, words + 4}, 0, 4e9), words);
                  const Tensor sf = f.sf == i32 ? p.input(i32, {down, cdiv(across, 4)}, 0, 2e9)
                                                : p.input(f32, {down, across}, 1, 9);
                  cast_back_e5m6(bytes_of(q), sf, left(p.output(f.y, {m, f.k + 8}), f.k),
                                 {.rows = f.rows, .columns = f.columns});
                }
              });
  }
}

void add_fake_casts(Cases& cases) {
  // In the last, a block has a row.
  for (const auto& [x, to, group, columns] :
       {std::tuple(bf16, f8_e4m3, 128, 384), std::tuple(f32, f4_e2m1, 16, 384),
        std::tuple(bf16, f4_e2m1, 32, 384), std::tuple(bf16, f4_e2m1, 32, 2048)}) {
    const DType dtype = x, through = to;
    const int64_t k = columns;
    const FakeCastArgs args{.group = group, .round_sf = group == 32, .e4m3_sf = group == 16};
    cases.add("per_token_cast_and_cast_back", format("{} columns of {} through {}", k, x, to),
              [=](Place& p) {
                for (const Peaks where : kPeaks) {
                  per_token_cast_and_cast_back(
                      left(p.peaks(dtype, {29, k + 16}, args.group, where), k), through, args);
                }
              });
  }
}

void add_stochastic_casts(Cases& cases) {
  for (const auto& [from, to] :
       {std::pair(f32, bf16), std::pair(f32, f8_e4m3), std::pair(bf16, f8_e4m3)}) {
    const DType x = from, y = to;
    cases.add("stochastic_cast", format("{} to {}", x, y), [=](Place& p) {
      // Ends within a vector: few elements have bits that decide.
      for (const int64_t n : {2048, 2076, 2052, 1020, 996, 2044, 3068, 4092, 1500}) {
        stochastic_cast(p.input(x, {n}), p.output(y, {n}));
      }
    });
  }
  for (const DType dtype : {f8_e4m3, f4_e2m1}) {
    const DType to = dtype;
    cases.add("per_token_cast", format("f32 to {} at random", to), [=](Place& p) {
      for (const int64_t rows : {21, 43}) {  // nearly a whole tile, and one more than two
        for (const Peaks where : kPeaks) {
          per_token_cast(p.peaks(f32, {rows, 96}, 32, where), p.output(to, {rows, 96}),
                         p.output(f32, {rows, 3}), {.group = 32, .stochastic = true});
        }
      }
    });
  }
}

}  // namespace

void add_quant(Cases& cases) {
  add_token_casts(cases);
  add_block_casts(cases);
  add_channel_casts(cases);
  add_casts_back(cases);
  for (const int64_t m : {133, 128}) add_lossless_casts(cases, m);  // the latter in whole tiles
  add_weight_factors(cases);
  add_casts_to_e5m6(cases);
  add_casts_back_from_e5m6(cases);
  add_fake_casts(cases);
  add_stochastic_casts(cases);
}

}  // namespace tw::test
