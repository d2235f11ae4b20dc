#include "tilewright/layout/parse.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <string>
#include <utility>

#include "tilewright/base/codes.h"
#include "tilewright/base/error.h"
#include "tilewright/layout/algebra.h"
#include "tilewright/layout/normal.h"
#include "tilewright/layout/packed.h"
#include "tilewright/layout/swizzle.h"
#include "tilewright/layout/tensor_core.h"

namespace tw::layout {
namespace {

/// A place in a text; spaces before a token are skipped.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  [[noreturn]] void fail(std::string_view wanted) {
    skip_spaces();
    throw Error(codes::lay_10, {}, "layout '{}': expected {} at '{}'", text_, wanted,
                text_.substr(at_));
  }
  bool peek(std::string_view token) {
    skip_spaces();
    return text_.substr(at_).starts_with(token);
  }
  bool accept(std::string_view token) {
    if (!peek(token)) return false;
    at_ += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) fail(format("'{}'", token));
  }
  void expect_end() {
    skip_spaces();
    if (at_ != text_.size()) fail("the end");
  }
  int64_t number(int64_t least = 0) {
    skip_spaces();
    int64_t value = 0;
    const auto [end, error] =
        std::from_chars(text_.data() + at_, text_.data() + text_.size(), value);
    if (error != std::errc() || value < least) {
      fail(least == 0 ? "a number" : format("a number from {}", least));
    }
    at_ = end - text_.data();
    return value;
  }
  std::string_view name() {
    skip_spaces();
    const size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_')) {
      ++at_;
    }
    if (begin == at_) fail("a name");
    return text_.substr(begin, at_ - begin);
  }
  /// Numbers separated by commas up to `end`.
  Coords numbers(std::string_view end, int64_t least = 0) {
    Coords all;
    if (accept(end)) return all;
    do {
      all.push_back(number(least));
    } while (accept(","));
    expect(end);
    return all;
  }
  std::string_view text() const { return text_; }

 private:
  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  std::string_view text_;
  size_t at_ = 0;
};

// 1. Expressions: sums of digits.

struct Box {
  Coords shape;
  std::vector<std::string> names;
};

/// `j / 8 % 4`, adding the extent it gives, or 0, to `extent`.
Source read_source(Scanner& in, const Box& box, int64_t& extent) {
  const std::string_view name = in.name();
  const auto at = std::find(box.names.begin(), box.names.end(), name);
  if (at == box.names.end()) in.fail(format("a dimension before, not '{}',", name));
  Source source = {static_cast<int>(at - box.names.begin()), 1};
  if (in.accept("/")) source.div = in.number(1);
  if (in.accept("%")) extent = std::max(extent, in.number(1));
  return source;
}

Term read_term(Scanner& in, const Box& box, int out) {
  Term term = {{}, 0, out, 1};
  if (in.accept("(")) {
    do {
      term.sources.push_back(read_source(in, box, term.extent));
    } while (in.accept("^"));
    in.expect(")");
  } else {
    term.sources.push_back(read_source(in, box, term.extent));
  }
  if (in.accept("*")) term.stride = in.number();
  if (term.extent > 0) return term;
  for (const Source& source : term.sources) {  // no mod: as many values as the box gives
    term.extent = std::max(term.extent, ceil_div(box.shape[source.dim], source.div));
  }
  if (term.sources.size() > 1) {
    term.extent = static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(term.extent)));
  }
  return term;
}

std::vector<Term> read_expressions(Scanner& in, const Box& box, int count) {
  std::vector<Term> terms;
  for (int out = 0; out < count; ++out) {
    if (out > 0) in.expect(",");
    if (in.accept("0")) continue;
    do {
      terms.push_back(read_term(in, box, out));
    } while (in.accept("+"));
  }
  in.expect_end();
  return terms;
}

Box read_box(Scanner& in) {
  in.expect("[");
  Box box = {in.numbers("]", 1), {}};
  for (size_t d = 0; d < box.shape.size(); ++d) {
    box.names.push_back(dimension_name(static_cast<int>(d)));
  }
  return box;
}

Layout read_layout_expressions(Scanner& in, Box box) {
  in.expect("[");
  const Coords extents = in.numbers("]", 1);
  in.expect(":");
  std::vector<Term> terms = read_expressions(in, box, static_cast<int>(extents.size()));
  return Layout(std::move(box.shape), std::move(terms), extents);
}

Fragment read_fragment_expressions(Scanner& in, Box box) {
  int64_t replicas = 1, addends = 1, first_thread = 0;
  if (in.accept("x")) {
    replicas = in.number(1);
    if (in.accept("of")) {
      addends = in.number(1);
      in.expect("addends");
    }
  }
  in.expect("->");
  const int64_t threads = in.number(1);
  in.expect("threads");
  if (in.accept("from")) first_thread = in.number();
  in.expect(",");
  const int64_t slots = in.number(1);
  in.expect("slots");
  in.expect(":");
  box.shape.push_back(replicas);
  box.names.push_back("r");
  std::vector<Term> terms = read_expressions(in, box, 2);
  return Fragment(Layout(std::move(box.shape), std::move(terms), {threads, slots}), first_thread,
                  addends);
}

/// What starts with a box: a fragment if replicas or threads come next.
std::variant<Layout, Fragment> read_expressions_of_either(Scanner& in) {
  Box box = read_box(in);
  if (in.peek("x")) return read_fragment_expressions(in, std::move(box));
  Scanner after = in;
  after.expect("->");
  if (!after.peek("[")) return read_fragment_expressions(in, std::move(box));
  return read_layout_expressions(after, std::move(box));
}

// 2. Nested shape:stride.

ShapeStride read_tuple(Scanner& in) {
  if (!in.accept("(")) return ShapeStride::leaf(in.number(), 0);
  std::vector<ShapeStride> modes;
  do {
    modes.push_back(read_tuple(in));
  } while (in.accept(","));
  if (!in.accept(")")) in.fail("',' or ')'");
  return ShapeStride::tuple(std::move(modes));
}

/// Gives `shape` the numbers of `strides` as strides; false if they are nested differently.
bool set_strides(ShapeStride& shape, const ShapeStride& strides) {
  if (shape.is_tuple != strides.is_tuple || shape.modes.size() != strides.modes.size())
    return false;
  if (!shape.is_tuple) shape.stride = strides.extent;
  for (size_t i = 0; i < shape.modes.size(); ++i) {
    if (!set_strides(shape.modes[i], strides.modes[i])) return false;
  }
  return true;
}

void set_compact_strides(ShapeStride& shape, int64_t& next) {
  for (ShapeStride& mode : shape.modes) set_compact_strides(mode, next);
  if (shape.is_tuple) return;
  shape.stride = next;
  next *= shape.extent;
}

ShapeStride read_shape_stride(Scanner& in) {
  ShapeStride shape = read_tuple(in);
  for (const ShapeStride& leaf : leaves(shape)) {
    if (leaf.extent < 1) throw Error(codes::lay_10, {}, "layout '{}': extent 0", in.text());
  }
  if (in.accept(":")) {
    if (!set_strides(shape, read_tuple(in))) {
      throw Error(codes::lay_10, {}, "layout '{}': shape and strides are nested differently",
                  in.text());
    }
  } else {
    int64_t next = 1;
    set_compact_strides(shape, next);
  }
  in.expect_end();
  return shape;
}

Layout read_swizzle(Scanner& in) {
  const Coords parameters = in.numbers(">");
  if (parameters.size() != 3) in.fail("3 numbers in Sw<>");
  in.expect("o");
  const Layout plain = to_layout(read_shape_stride(in));
  const int64_t unit = int64_t{1} << (parameters[0] + parameters[1]);
  const Layout swizzle =
      xor_bits(ceil_div(plain.physical_size(), unit) * unit, static_cast<int>(parameters[0]),
               static_cast<int>(parameters[1]), static_cast<int>(parameters[2]));
  const auto both = compose(plain, swizzle);
  if (!both) {
    throw Error(codes::lay_10, {}, "layout '{}': strides cut the bits that are swizzled",
                in.text());
  }
  return *both;
}

// 3. Names.

/// The arguments of a call, after its '('.
Coords read_arguments(Scanner& in, size_t least, size_t most) {
  Coords arguments = in.numbers(")", 1);
  if (arguments.size() < least || arguments.size() > most) {
    throw Error(codes::lay_10, {}, "layout '{}': {} numbers in the parentheses, expected {}",
                in.text(), arguments.size(), least);
  }
  in.expect_end();
  return arguments;
}

Swizzle swizzle_of(Scanner& in, int64_t bytes) {
  for (const Swizzle s : {Swizzle::bytes_32, Swizzle::bytes_64, Swizzle::bytes_128}) {
    if (width(s) == bytes) return s;
  }
  throw Error(codes::lay_10, {}, "layout '{}': a width of {} bytes, expected 32, 64 or 128",
              in.text(), bytes);
}

std::optional<Layout> read_named_layout(Scanner& in, std::string_view name) {
  constexpr size_t kAny = 64;
  if (name == "row_major") return row_major(read_arguments(in, 1, kAny));
  if (name == "swizzled") {
    const Coords a = read_arguments(in, 4, 4);
    return swizzled(a[0], a[1], static_cast<int>(a[2]), swizzle_of(in, a[3]));
  }
  if (name == "padded") {
    const Coords a = read_arguments(in, 3, 3);
    const auto tile = padded(a[0], a[1], static_cast<int>(a[2]));
    if (tile) return tile;
    throw Error(codes::lay_10, {}, "layout '{}': rows are no multiple of 32 bytes", in.text());
  }
  if (name == "panels") {
    const Coords a = read_arguments(in, 4, 4);
    return panels(a[0], a[1], a[2], a[3]);
  }
  if (name == "column_panels") {
    const Coords a = read_arguments(in, 4, 4);
    return column_panels(a[0], a[1], a[2], a[3]);
  }
  return std::nullopt;
}

Fragment read_table(Scanner& in, std::string_view name) {
  if (const auto fragment = tensor_core_fragment(name)) return *fragment;
  Error error(codes::lay_10, {}, "layout '{}': nothing is called '{}'", in.text(), name);
  std::vector<std::string> names;
  for (const TensorCoreTile& tile : tensor_core_tiles()) names.push_back(tile.name);
  throw error.help("tables are {}, wgmma_c_64x<n>", join(names, ", "));
}

Fragment read_named_fragment(Scanner& in, std::string_view name) {
  if (!in.accept("(")) {
    in.expect_end();
    return read_table(in, name);
  }
  if (name == "replicated") {
    Coords shape = read_arguments(in, 2, 64);
    const int64_t threads = shape.back();
    shape.pop_back();
    return fully_replicated(shape, threads);
  }
  const Fragment atom = read_table(in, in.name());
  in.expect(",");
  const Coords a = read_arguments(in, 4, 4);
  if (name == "accumulator") return accumulator_tile(atom, {a[0], a[1]}, a[2], a[3]);
  if (name == "operand_a") return operand_a_tile(atom, {a[0], a[1]}, a[2], a[3]);
  if (name == "operand_b") return operand_b_tile(atom, {a[0], a[1]}, a[2], a[3]);
  return read_table(in, name);
}

}  // namespace

std::variant<Layout, Fragment> parse_either(std::string_view text) {
  Scanner in(text);
  if (in.peek("[")) return read_expressions_of_either(in);
  if (in.accept("Sw<")) return read_swizzle(in);
  if (in.peek("(") ||
      (!text.empty() && std::isdigit(static_cast<unsigned char>(text.front())) != 0)) {
    return to_layout(read_shape_stride(in));
  }
  const std::string_view name = in.name();
  Scanner arguments = in;
  if (arguments.accept("(")) {
    if (const auto layout = read_named_layout(arguments, name)) return *layout;
  }
  return read_named_fragment(in, name);
}

Layout parse_layout(std::string_view text) {
  const auto either = parse_either(text);
  if (const Layout* layout = std::get_if<Layout>(&either)) return *layout;
  throw Error(codes::lay_10, {}, "layout '{}': a fragment where a layout is needed", text);
}

Fragment parse_fragment(std::string_view text) {
  const auto either = parse_either(text);
  if (const Fragment* fragment = std::get_if<Fragment>(&either)) return *fragment;
  throw Error(codes::lay_10, {}, "layout '{}': a layout where a fragment is needed", text);
}

ShapeStride parse_shape_stride(std::string_view text) {
  Scanner in(text);
  return read_shape_stride(in);
}

}  // namespace tw::layout
