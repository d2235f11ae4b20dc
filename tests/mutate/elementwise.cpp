// Calls of functions of elements, copies and casts of them: tiles in rows, whole and not.
#include "tilewright/kernels/elementwise.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "tests/mutate/cases.h"
#include "tilewright/base/format.h"
#include "tilewright/kernels/activation.h"
#include "tilewright/kernels/move.h"
#include "tilewright/kernels/quant.h"
#include "tilewright/kernels/work.h"

namespace tw::test {
namespace {

using namespace kernels;

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

/// Schedules of GPUs differ by how much there is to do.
constexpr Work kWorks[] = {Work::little, Work::much};

/// Rows of elements of at most so many bits, for wide, narrow and tiny tiles: one whole tile in
/// each direction and one that is nearly whole, or nearly empty. 3 more columns make them a
/// multiple of 16 bytes.
RowSizes tiled_rows(int bits, int vectors = 2) {
  const int64_t elements = vectors * 128 * 128 / bits;  // of a tile
  return {{3, 2 * elements - 19}, {2 * elements / 128 - 3, 253}, {2 * elements / 16 - 3, 29},
          {2, elements + 13},     {elements / 128 + 1, 141},     {elements / 16 + 1, 29}};
}

/// Of functions that aren't costly.
int vectors_of(Work work) { return work == Work::much ? 2 : 4; }

void add_arithmetic(Cases& cases) {
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
    RowSizes all = tiled_rows(32);
    // To read one farther shows behind the last row and column alone, of whole tiles and of others.
    for (const auto& [n, h] : RowSizes{{3, 1024}, {16, 128}, {64, 16}}) {
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
        const int64_t whole = bits == 8 ? 128 : 64;  // tiles
        for (const auto& [batch, m, n] :
             {std::tuple(2, int64_t{5}, int64_t{7}), std::tuple(2, whole, 2 * whole),
              std::tuple(1, down + 1, across + 2), std::tuple(1, 2 * down - 1, 2 * across - 3)}) {
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

}  // namespace

void add_elementwise(Cases& cases) {
  add_activations(cases);
  add_arithmetic(cases);
  add_moves(cases);
  add_casts(cases);
}

}  // namespace tw::test
