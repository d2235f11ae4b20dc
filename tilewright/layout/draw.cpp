#include "tilewright/layout/draw.h"

#include <algorithm>
#include <functional>
#include <vector>

#include "tilewright/base/error.h"

namespace tw::layout {
namespace {

using Row = std::vector<std::string>;

/// Cells of one width, aligned to the right.
std::string lines_of(const std::vector<Row>& rows) {
  size_t width = 0;
  for (const Row& row : rows) {
    for (const std::string& cell : row) width = std::max(width, cell.size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (const std::string& cell : row) {
      line += (line.empty() ? "" : " ") + std::string(width - cell.size(), ' ') + cell;
    }
    text += line + "\n";
  }
  return text;
}

/// One table of the last two dimensions; `leading` are the others. A box of one
/// dimension is one row.
std::string table(const Coords& shape, const Coords& leading, int64_t per_cell,
                  const std::function<std::string(const Coords&)>& cell) {
  const bool has_rows = shape.size() >= 2;
  const int64_t row_count = has_rows ? shape[shape.size() - 2] : 1;
  const int64_t columns = shape.empty() ? 1 : shape.back();
  std::vector<Row> rows(1);
  if (has_rows) rows[0].emplace_back("");
  for (int64_t j = 0; j < columns; j += per_cell) rows[0].push_back(std::to_string(j) + "|");
  for (int64_t i = 0; i < row_count; ++i) {
    Row row;
    if (has_rows) row.push_back(std::to_string(i) + "|");
    for (int64_t j = 0; j < columns; j += per_cell) {
      Coords x = leading;
      if (has_rows) x.push_back(i);
      if (!shape.empty()) x.push_back(j);
      row.push_back(cell(x));
    }
    rows.push_back(std::move(row));
  }
  return lines_of(rows);
}

std::string tables(const Coords& shape, int64_t per_cell,
                   const std::function<std::string(const Coords&)>& cell) {
  TW_REQUIRE(per_cell >= 1, "draw: {} elements per cell", per_cell);
  if (shape.size() <= 2) return table(shape, {}, per_cell, cell);
  std::string text;
  every(Coords(shape.begin(), shape.end() - 2), [&](const Coords& leading) {
    text += format("{}\n", leading) + table(shape, leading, per_cell, cell);
    return true;
  });
  return text;
}

}  // namespace

std::string draw(const Layout& layout, const DrawOptions& options) {
  constexpr int64_t kBanks = 32, kBankBits = 32;
  return tables(layout.shape(), options.per_cell, [&](const Coords& x) {
    const int64_t offset = layout.offset(x);
    if (options.bank_bits == 0) return std::to_string(offset);
    return std::to_string(offset * options.bank_bits / kBankBits % kBanks);
  });
}

std::string draw(const Fragment& fragment, const DrawOptions& options) {
  return tables(fragment.shape(), options.per_cell, [&](const Coords& x) {
    return format("{}{}:{}", fragment.thread(x), owners(fragment, x).size() > 1 ? "+" : "",
                  fragment.slot(x));
  });
}

}  // namespace tw::layout
