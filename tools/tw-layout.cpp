// tw-layout: reads a layout or a fragment as text, says what it is and draws it.
#include <iostream>
#include <string>

#include <CLI/CLI.hpp>

#include "tilewright/base/error.h"
#include "tilewright/layout/algebra.h"
#include "tilewright/layout/conversion.h"
#include "tilewright/layout/draw.h"
#include "tilewright/layout/parse.h"
#include "tilewright/layout/query.h"
#include "tilewright/layout/tensor_core.h"
#include "tilewright/runtime/shape.h"

namespace {

using namespace tw;          // NOLINT: a tool
using namespace tw::layout;  // NOLINT

/// Everything here looks at each element.
void check_size(const std::vector<int64_t>& box) {
  constexpr int64_t kMost = 1 << 20;
  int64_t elements = 1;
  for (const int64_t extent : box) elements = saturating_product(elements, extent);
  TW_REQUIRE(elements <= kMost, "the box {} has more than {} elements; draw a part of it", box,
             kMost);
}

std::string properties(const Layout& layout) {
  std::string text = is_bijective(layout)   ? "bijective"
                     : is_injective(layout) ? "injective, with places that hold nothing"
                                            : "not injective";
  for (int d = 0; d < layout.rank(); ++d) {
    const Run run = contiguous_run(layout, d);
    if (run.length == 1) continue;
    text += format("; runs of {} along {}, aligned to {}", run.length, dimension_name(d),
                   run.alignment);
  }
  return text;
}

void show(const Layout& layout, const DrawOptions& options, bool inverted) {
  check_size(layout.shape());
  std::cout << to_text(layout) << "\n";
  if (layout.out_rank() > 1) std::cout << "offset: " << to_text(linearize(layout)) << "\n";
  if (const auto nested = to_shape_stride(layout))
    std::cout << "nested: " << to_text(*nested) << "\n";
  std::cout << properties(layout) << "\n";
  if (inverted) {
    const auto back = inverse(linearize(layout));
    std::cout << "inverse: " << (back ? to_text(back->layout) : "none") << "\n";
  }
  std::cout << draw(layout, options);
}

void show(const Fragment& fragment, const DrawOptions& options, bool inverted) {
  check_size(fragment.map().shape());
  std::cout << to_text(fragment) << "\n";
  if (!is_well_formed(fragment)) std::cout << "not well-formed: a slot holds several elements\n";
  if (inverted) {
    const auto back = thread_value_map(fragment);
    std::cout << "slot s of thread t holds: " << (back ? expressions(*back, {"t", "s"}) : "unknown")
              << "\n";
  }
  std::cout << draw(fragment, options);
}

void show_conversion(const Fragment& from, const Fragment& to) {
  TW_REQUIRE(from.shape() == to.shape(), "the fragments have the boxes {} and {}", from.shape(),
             to.shape());
  check_size(from.map().shape());
  check_size(to.map().shape());
  const Conversion conversion = convert(from, to);
  std::cout << "from " << to_text(from) << "\nto   " << to_text(to)
            << "\nneeds: " << to_text(conversion.exchange) << "\n";
  if (!conversion.source) return;
  std::cout << "slot s of thread t comes from thread, slot: "
            << expressions(*conversion.source, {"t", "s"}) << "\n"
            << "source slots per slot: " << conversion.choices << "\n";
}

void list_tables() {
  for (const TensorCoreTile& tile : tensor_core_tiles()) {
    std::cout << format("{:<16} {}\n", tile.name, tile.what);
  }
  std::cout << format("{:<16} accumulator of wgmma, n up to 256\n", "wgmma_c_64x<n>");
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Draws a layout or a fragment.");
  std::string text, target;
  DrawOptions options;
  bool list = false, inverted = false;
  app.add_option("layout", text,
                 "[8, 64] -> [512]: i * 64 + (i ^ j / 8) * 8 + j % 8\n(8,(4,2)):(4,(1,32))\n"
                 "Sw<3,4,3> o (8,64):(64,1)\nswizzled(rows, columns, bits, bytes)\n"
                 "panels(rows, depth, panel, group)\nmma_c_16x8\n"
                 "accumulator(mma_c_16x8, 64, 64, 2, 2)\nand other forms of docs/layouts.md");
  app.add_option("--per-cell", options.per_cell, "elements of the last dimension per cell");
  app.add_option("--banks", options.bank_bits,
                 "show banks of shared memory, for elements of so many bits");
  app.add_option("--to", target, "another fragment: say what converting to it takes");
  app.add_flag("--inverse", inverted, "print the map back, too");
  app.add_flag("--list", list, "list the tables of tensor cores and stop");
  CLI11_PARSE(app, argc, argv);
  try {
    if (list) {
      list_tables();
    } else if (!target.empty()) {
      show_conversion(parse_fragment(text), parse_fragment(target));
    } else {
      std::visit([&](const auto& either) { show(either, options, inverted); }, parse_either(text));
    }
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "tw-layout: " << error.what() << "\n";
    return 1;
  }
}
