#include "tilewright/layout/tensor_core.h"

#include <charconv>
#include <utility>

#include "tilewright/base/error.h"

namespace tw::layout {
namespace {

// Digits of a thread: q and g of the lane, the warp; and of a register number r.
constexpr Source kQ = {0, 1}, kG = {0, 4}, kWarp = {0, 32};
Source reg(int64_t div) { return {1, div}; }

/// One digit of a row or column: its source, how many values it has, what one of them adds.
struct Digit {
  Source source;
  int64_t extent, stride;
};

TensorCoreTile tile(std::string name, std::string what, Coords threads_and_registers,
                    const std::vector<Digit>& row, const std::vector<Digit>& column) {
  std::vector<Term> terms;
  for (const Digit& d : row) terms.push_back({{d.source}, d.extent, 0, d.stride});
  for (const Digit& d : column) terms.push_back({{d.source}, d.extent, 1, d.stride});
  return {std::move(name), std::move(what),
          Layout::tight(std::move(threads_and_registers), std::move(terms), 2)};
}

std::vector<TensorCoreTile> make_tiles() {
  const Digit g = {kG, 8, 1}, warp = {kWarp, 4, 16};
  return {
      tile("mma_c_16x8", "accumulator, 32 bits", {32, 4}, {g, {reg(2), 2, 8}},
           {{kQ, 4, 2}, {reg(1), 2, 1}}),
      tile("mma_a_16x16", "A, 16 bits", {32, 8}, {g, {reg(2), 2, 8}},
           {{kQ, 4, 2}, {reg(1), 2, 1}, {reg(4), 2, 8}}),
      tile("mma_a_16x32", "A, 8 bits", {32, 16}, {g, {reg(4), 2, 8}},
           {{kQ, 4, 4}, {reg(1), 4, 1}, {reg(8), 2, 16}}),
      tile("mma_a_16x8", "A, tf32", {32, 4}, {g, {reg(1), 2, 8}}, {{kQ, 4, 1}, {reg(2), 2, 4}}),
      tile("mma_b_16x8", "B, 16 bits", {32, 4}, {{kQ, 4, 2}, {reg(1), 2, 1}, {reg(2), 2, 8}}, {g}),
      tile("mma_b_32x8", "B, 8 bits", {32, 8}, {{kQ, 4, 4}, {reg(1), 4, 1}, {reg(4), 2, 16}}, {g}),
      tile("mma_b_8x8", "B, tf32", {32, 2}, {{kQ, 4, 1}, {reg(1), 2, 4}}, {g}),
      tile("mma_c_8x8", "accumulator, f64", {32, 2}, {g}, {{kQ, 4, 2}, {reg(1), 2, 1}}),
      tile("wgmma_a_64x16", "A in registers, 16 bits", {128, 8}, {warp, g, {reg(2), 2, 8}},
           {{kQ, 4, 2}, {reg(1), 2, 1}, {reg(4), 2, 8}}),
      tile("wgmma_a_64x32", "A in registers, 8 bits", {128, 16}, {warp, g, {reg(4), 2, 8}},
           {{kQ, 4, 4}, {reg(1), 4, 1}, {reg(8), 2, 16}}),
      tile("matrix_8x8", "ldmatrix, stmatrix, 16 bits", {32, 2}, {g}, {{kQ, 4, 2}, {reg(1), 2, 1}}),
  };
}

/// The atom repeated over registers to one warp's part of `shape`.
Fragment part(const Fragment& atom, const Coords& shape, int64_t parts_m, int64_t parts_n) {
  const Coords tile = atom.shape();
  const int64_t rows = tile[0] * parts_m, columns = tile[1] * parts_n;
  TW_REQUIRE(shape.size() == 2 && shape[0] % rows == 0 && shape[1] % columns == 0,
             "tensor cores: {} isn't divisible into {} x {} parts of {} tiles", shape, parts_m,
             parts_n, tile);
  return repeat(repeat(atom, 1, shape[1] / columns, On::slots), 0, shape[0] / rows, On::slots);
}

}  // namespace

const std::vector<TensorCoreTile>& tensor_core_tiles() {
  static const std::vector<TensorCoreTile> kTiles = make_tiles();
  return kTiles;
}

TensorCoreTile wgmma_accumulator(int64_t n) {
  TW_REQUIRE(n >= 8 && n <= 256 && n % 8 == 0,
             "wgmma: N is {}, it must be a multiple of 8 up to 256", n);
  return tile(format("wgmma_c_64x{}", n), "accumulator, 32 bits", {128, n / 2},
              {{kWarp, 4, 16}, {kG, 8, 1}, {reg(2), 2, 8}},
              {{reg(4), n / 8, 8}, {kQ, 4, 2}, {reg(1), 2, 1}});
}

std::optional<Fragment> tensor_core_fragment(std::string_view name) {
  for (const TensorCoreTile& tile : tensor_core_tiles()) {
    if (tile.name == name) return fragment_of(tile.thread_value_map);
  }
  constexpr std::string_view kPrefix = "wgmma_c_64x";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  int64_t n = 0;
  const char* end = name.data() + name.size();
  const auto [rest, error] = std::from_chars(name.data() + kPrefix.size(), end, n);
  if (error != std::errc() || rest != end || n < 8 || n > 256 || n % 8 != 0) return std::nullopt;
  return fragment_of(wgmma_accumulator(n).thread_value_map);
}

Fragment accumulator_tile(const Fragment& atom, const Coords& shape, int64_t parts_m,
                          int64_t parts_n) {
  const Fragment rows = repeat(part(atom, shape, parts_m, parts_n), 0, parts_m, On::threads);
  return repeat(rows, 1, parts_n, On::threads);
}

Fragment operand_a_tile(const Fragment& atom, const Coords& shape, int64_t parts_m,
                        int64_t parts_n) {
  return replicate(repeat(part(atom, shape, parts_m, 1), 0, parts_m, On::threads), parts_n);
}

Fragment operand_b_tile(const Fragment& atom, const Coords& shape, int64_t parts_m,
                        int64_t parts_n) {
  return repeat(replicate(part(atom, shape, 1, parts_n), parts_m), 1, parts_n, On::threads);
}

}  // namespace tw::layout
