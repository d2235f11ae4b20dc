#include "tilewright/layout/swizzle.h"

#include <algorithm>
#include <map>
#include <set>

#include "tilewright/base/error.h"
#include "tilewright/layout/algebra.h"

namespace tw::layout {
namespace {

constexpr int64_t kChunkBytes = 16;

}  // namespace

std::string to_text(Swizzle swizzle) {
  return swizzle == Swizzle::none ? "none" : std::to_string(width(swizzle));
}

int64_t width(Swizzle swizzle) {
  return swizzle == Swizzle::none ? 0 : int64_t{16} << static_cast<int>(swizzle);
}

int64_t base_alignment(Swizzle swizzle) { return int64_t{128} << static_cast<int>(swizzle); }

bool is_usable(Swizzle swizzle, int64_t rows, int64_t columns, int bits) {
  if (swizzle == Swizzle::none) return true;
  return columns * bits % (width(swizzle) * 8) == 0 && (rows % 8 == 0 || rows == 4);
}

Swizzle widest_swizzle(int64_t rows, int64_t columns, int bits) {
  for (const Swizzle swizzle : {Swizzle::bytes_128, Swizzle::bytes_64, Swizzle::bytes_32}) {
    if (is_usable(swizzle, rows, columns, bits)) return swizzle;
  }
  return Swizzle::none;
}

Layout swizzled(int64_t rows, int64_t columns, int bits, Swizzle swizzle) {
  TW_REQUIRE(is_usable(swizzle, rows, columns, bits),
             "swizzle: a tile of [{}, {}] elements of {} bits can't have the {}-byte swizzle", rows,
             columns, bits, width(swizzle));
  if (swizzle == Swizzle::none) return row_major({rows, columns});
  const int64_t chunk = kChunkBytes * 8 / bits;  // elements
  const int64_t chunks = width(swizzle) / kChunkBytes, piece = chunk * chunks;
  const Source row = {0, 1}, xored_row = {0, 8 / chunks};
  return Layout({rows, columns},
                {{{{1, piece}}, columns / piece, 0, 1},
                 {{row}, rows, 1, 1},
                 {{{1, chunk}, xored_row}, chunks, 2, 1},
                 {{{1, 1}}, chunk, 3, 1}},
                {columns / piece, rows, chunks, chunk});
}

std::optional<Layout> padded(int64_t rows, int64_t columns, int bits) {
  if (columns * bits % 256 != 0 || 128 % bits != 0) return std::nullopt;
  return pad(row_major({rows, columns}), 1, 128 / bits);
}

std::optional<Swizzle> merge(const SwizzleDemand& a, const SwizzleDemand& b) {
  if (a.wanted == b.wanted) return a.wanted;
  const Swizzle narrower = std::min(a.wanted, b.wanted);
  const auto accepts = [&](const SwizzleDemand& demand) {
    return demand.wanted == narrower ||
           std::count(demand.accepted.begin(), demand.accepted.end(), narrower) != 0;
  };
  if (narrower == Swizzle::none || !accepts(a) || !accepts(b)) return std::nullopt;
  return narrower;
}

Layout xor_bits(int64_t size, int bits, int base, int shift) {
  const int64_t low = int64_t{1} << base, middle = int64_t{1} << bits;
  TW_REQUIRE(bits >= 0 && base >= 0 && shift >= bits && size % (low * middle) == 0,
             "swizzle: Sw<{}, {}, {}> on {} elements", bits, base, shift, size);
  return Layout({size},
                {{{{0, 1}}, low, 0, 1},
                 {{{0, low}, {0, low << shift}}, middle, 0, low},
                 {{{0, low * middle}}, size / (low * middle), 0, low * middle}},
                {size});
}

int64_t bank_cycles(const std::vector<int64_t>& byte_offsets, int64_t bytes, int64_t banks,
                    int64_t bank_bytes) {
  const int64_t group = std::max<int64_t>(1, banks * bank_bytes / bytes);
  int64_t cycles = 0;
  for (size_t begin = 0; begin < byte_offsets.size(); begin += group) {
    std::map<int64_t, std::set<int64_t>> words;  // by bank
    const size_t end = std::min(byte_offsets.size(), begin + group);
    for (size_t lane = begin; lane < end; ++lane) {
      const int64_t last = (byte_offsets[lane] + bytes - 1) / bank_bytes;
      for (int64_t word = byte_offsets[lane] / bank_bytes; word <= last; ++word) {
        words[word % banks].insert(word);
      }
    }
    size_t most = 0;
    for (const auto& [bank, of_bank] : words) most = std::max(most, of_bank.size());
    cycles += static_cast<int64_t>(most);
  }
  return cycles;
}

}  // namespace tw::layout
