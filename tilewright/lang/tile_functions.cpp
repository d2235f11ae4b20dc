// The element functions on tiles: each maps the function on values over the elements.
#include "tilewright/lang/tile_value.h"

namespace tw {
inline namespace lang {

namespace {

using Inputs = std::vector<Tile>;

Inputs pair_of(Tile& a, Tile& b) {
  Inputs list;
  list.push_back(std::move(a));
  list.push_back(std::move(b));
  return list;
}
Inputs triple_of(Tile& a, Tile& b, Tile& c) {
  Inputs list = pair_of(a, b);
  list.push_back(std::move(c));
  return list;
}

}  // namespace

#define TW_DEFINE(name)                                                         \
  Tile name(TileArg x) {                                                        \
    const Site site{#name, x.where()};                                          \
    return map(site, {std::move(x.tile())},                                     \
               [](const std::vector<Operand>& v) { return lang::name(v[0]); }); \
  }
TW_UNARY_FUNCTIONS(TW_DEFINE)
TW_DEFINE(neg)
TW_DEFINE(bit_not)
TW_DEFINE(logical_not)
#undef TW_DEFINE

#define TW_DEFINE_AS(text, name)                                                      \
  Tile name(TileArg a, TileOperand b) {                                               \
    const Site site{text, a.where()};                                                 \
    return map(site, pair_of(a.tile(), b.tile()),                                     \
               [](const std::vector<Operand>& v) { return lang::name(v[0], v[1]); }); \
  }                                                                                   \
  Tile name(const Operand& a, TileArg b) {                                            \
    TileOperand left(a);                                                              \
    const Site site{text, a.where()};                                                 \
    return map(site, pair_of(left.tile(), b.tile()),                                  \
               [](const std::vector<Operand>& v) { return lang::name(v[0], v[1]); }); \
  }
#define TW_DEFINE(name) TW_DEFINE_AS(#name, name)
#define TW_DEFINE_OPERATOR(symbol, name) TW_DEFINE_AS(#symbol, name)
TW_BINARY_OPERATORS(TW_DEFINE_OPERATOR)
TW_BINARY_FUNCTIONS(TW_DEFINE)
#undef TW_DEFINE_OPERATOR
#undef TW_DEFINE
#undef TW_DEFINE_AS

#define TW_DEFINE(name)                                                                     \
  Tile name(TileArg a, TileOperand b, TileOperand c) {                                      \
    const Site site{#name, a.where()};                                                      \
    return map(site, triple_of(a.tile(), b.tile(), c.tile()),                               \
               [](const std::vector<Operand>& v) { return lang::name(v[0], v[1], v[2]); }); \
  }                                                                                         \
  Tile name(const Operand& a, TileArg b, TileOperand c) {                                   \
    TileOperand left(a);                                                                    \
    const Site site{#name, a.where()};                                                      \
    return map(site, triple_of(left.tile(), b.tile(), c.tile()),                            \
               [](const std::vector<Operand>& v) { return lang::name(v[0], v[1], v[2]); }); \
  }                                                                                         \
  Tile name(const Operand& a, const Operand& b, TileArg c) {                                \
    TileOperand left(a), middle(b);                                                         \
    const Site site{#name, a.where()};                                                      \
    return map(site, triple_of(left.tile(), middle.tile(), c.tile()),                       \
               [](const std::vector<Operand>& v) { return lang::name(v[0], v[1], v[2]); }); \
  }
TW_TERNARY_FUNCTIONS(TW_DEFINE)
#undef TW_DEFINE

namespace fast {
#define TW_DEFINE(name)                                                         \
  Tile name(TileArg x) {                                                        \
    const Site site{"fast::" #name, x.where()};                                 \
    return map(site, {std::move(x.tile())},                                     \
               [](const std::vector<Operand>& v) { return fast::name(v[0]); }); \
  }
TW_FAST_FUNCTIONS(TW_DEFINE)
TW_DEFINE(sigmoid)
#undef TW_DEFINE
Tile div(TileArg a, TileOperand b) {
  const Site site{"fast::div", a.where()};
  return map(site, pair_of(a.tile(), b.tile()),
             [](const std::vector<Operand>& v) { return fast::div(v[0], v[1]); });
}
}  // namespace fast

}  // namespace lang
}  // namespace tw
