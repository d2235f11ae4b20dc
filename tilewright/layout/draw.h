// Layouts and fragments drawn as tables of text.
#pragma once

#include <string>

#include "tilewright/layout/fragment.h"
#include "tilewright/layout/layout.h"

namespace tw::layout {

struct DrawOptions {
  /// Elements of the last dimension that one cell stands for; it shows the first of them.
  int64_t per_cell = 1;
  /// If not 0: elements have so many bits, and cells show the 4-byte bank (of 32)
  /// instead of the offset.
  int bank_bits = 0;
};

/// A row per index of the last dimension but one, a column per index of the last, cells with the
/// offset. A box of more dimensions is one table per index of the leading ones.
std::string draw(const Layout& layout, const DrawOptions& options = {});

/// The same with `thread:slot` in the cells. Of several owners the first is shown, `+` marks that
/// there are more.
std::string draw(const Fragment& fragment, const DrawOptions& options = {});

}  // namespace tw::layout
