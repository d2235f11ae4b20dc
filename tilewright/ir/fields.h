// The field list of a node: TW_FIELDS(Type, a, b, ...) gives `Type::visit_fields(node, f)`, which
// calls f("a", node.a), f("b", node.b), ... in order. Everything generic over nodes is built on it.
#pragma once

#define TW_EXPAND(...) __VA_ARGS__
#define TW_FIELD(x) f(#x, node.x);
#define TW_EACH_1(m, x) m(x)
#define TW_EACH_2(m, x, ...) m(x) TW_EACH_1(m, __VA_ARGS__)
#define TW_EACH_3(m, x, ...) m(x) TW_EACH_2(m, __VA_ARGS__)
#define TW_EACH_4(m, x, ...) m(x) TW_EACH_3(m, __VA_ARGS__)
#define TW_EACH_5(m, x, ...) m(x) TW_EACH_4(m, __VA_ARGS__)
#define TW_EACH_6(m, x, ...) m(x) TW_EACH_5(m, __VA_ARGS__)
#define TW_EACH_7(m, x, ...) m(x) TW_EACH_6(m, __VA_ARGS__)
#define TW_EACH_8(m, x, ...) m(x) TW_EACH_7(m, __VA_ARGS__)
#define TW_EACH_9(m, x, ...) m(x) TW_EACH_8(m, __VA_ARGS__)
#define TW_EACH_10(m, x, ...) m(x) TW_EACH_9(m, __VA_ARGS__)
#define TW_EACH_11(m, x, ...) m(x) TW_EACH_10(m, __VA_ARGS__)
#define TW_EACH_12(m, x, ...) m(x) TW_EACH_11(m, __VA_ARGS__)
#define TW_EACH_13(m, x, ...) m(x) TW_EACH_12(m, __VA_ARGS__)
#define TW_EACH_14(m, x, ...) m(x) TW_EACH_13(m, __VA_ARGS__)
#define TW_EACH_15(m, x, ...) m(x) TW_EACH_14(m, __VA_ARGS__)
#define TW_EACH_16(m, x, ...) m(x) TW_EACH_15(m, __VA_ARGS__)
#define TW_EACH_17(m, x, ...) m(x) TW_EACH_16(m, __VA_ARGS__)
#define TW_EACH_18(m, x, ...) m(x) TW_EACH_17(m, __VA_ARGS__)
#define TW_EACH_19(m, x, ...) m(x) TW_EACH_18(m, __VA_ARGS__)
#define TW_PICK(_1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14, _15, _16, _17, _18, \
                _19, name, ...)                                                                  \
  name
#define TW_EACH(m, ...)                                                                          \
  TW_EXPAND(TW_PICK(__VA_ARGS__, TW_EACH_19, TW_EACH_18, TW_EACH_17, TW_EACH_16, TW_EACH_15,     \
                    TW_EACH_14, TW_EACH_13, TW_EACH_12, TW_EACH_11, TW_EACH_10, TW_EACH_9,       \
                    TW_EACH_8, TW_EACH_7, TW_EACH_6, TW_EACH_5, TW_EACH_4, TW_EACH_3, TW_EACH_2, \
                    TW_EACH_1)(m, __VA_ARGS__))

/// `Self` is the type or its const form, so that one list serves reading and filling in.
#define TW_FIELDS(Type, ...)                    \
  template <class Self, class F>                \
  static void visit_fields(Self& node, F&& f) { \
    TW_EACH(TW_FIELD, __VA_ARGS__)              \
  }
#define TW_NO_FIELDS(Type)       \
  template <class Self, class F> \
  static void visit_fields(Self&, F&&) {}
