#include "tilewright/lang/vector.h"

#include "tilewright/base/codes.h"
#include "tilewright/ir/build.h"
#include "tilewright/lang/loops.h"
#include "tilewright/lang/math.h"
#include "tilewright/lang/trace.h"

namespace tw {
inline namespace lang {
namespace {

/// What is left of the element's place in its buffer when it is divided by `lanes`, if it is known.
std::optional<int64_t> misalignment(const ir::Region& element, int64_t lanes) {
  const auto strides = ir::strides_of(element.buffer);
  const auto offset = element.buffer->offset ? ir::as_int(element.buffer->offset) : 0;
  if (!offset) return std::nullopt;
  int64_t rest = *offset % lanes;
  for (size_t d = 0; d < strides.size(); ++d) {
    const auto index = ir::as_int(element.begin[d]), stride = ir::as_int(strides[d]);
    if (stride && *stride % lanes == 0) continue;
    if (!index || !stride) return std::nullopt;
    rest += *index * *stride;
  }
  return rest % lanes;
}

void check(const Site& site, const Ref& first, int64_t lanes) {
  const ir::Buffer& buffer = first.region().buffer;
  const int64_t bits = lanes * buffer.dtype().bits();
  if (!first.is_element() || (bits != 32 && bits != 64 && bits != 128)) {
    throw Error(codes::vec_01, site.where, "{}: {} elements of {} are {} bits", site.name, lanes,
                buffer.dtype(), bits)
        .help("begin at an element and take 32, 64 or 128 bits");
  }
  const auto rest = misalignment(first.region(), lanes);
  if (!rest || *rest == 0) return;
  throw Error(codes::vec_01, site.where, "{}: the first element is {} past a multiple of {} in {}",
              site.name, *rest, lanes, buffer.name())
      .help("begin at a multiple of {}", lanes);
}

/// The n-th neighbour of an element in its row.
ir::Region neighbor(const Ref& first, int64_t n) {
  ir::Region region = first.region();
  region.begin.back() = ir::add(region.begin.back(), ir::index(n));
  return region;
}

}  // namespace

std::vector<Expr> load_vector(const Ref& first, int lanes, const Operand& predicate) {
  const Site site{"load_vector", first.where()};
  check(site, first, lanes);
  Trace& trace = Trace::in_launch(site);
  std::vector<Expr> values;
  for (int n = 0; n < lanes; ++n) {
    const ir::Region element = neighbor(first, n);
    const Expr value(trace.load(element.buffer, element.begin, false, site.where));
    values.push_back(
        if_else(Operand(predicate.value(), site.where), value, Expr(ir::zero(value.dtype()))));
  }
  return values;
}

void store_vector(const Ref& first, const std::vector<Expr>& values, const Operand& predicate) {
  const Site site{"store_vector", first.where()};
  check(site, first, static_cast<int64_t>(values.size()));
  const auto store_all = [&] {
    for (size_t n = 0; n < values.size(); ++n) {
      store_element(site, neighbor(first, static_cast<int64_t>(n)), values[n]);
    }
  };
  if (ir::is_true(as_condition(site, predicate.value()))) return store_all();
  if_(Operand(predicate.value(), site.where), store_all);
}

Expr pack(const Operand& low, const Operand& high) {
  const auto half = [&](const Operand& x) {
    return low.beside(cast(low.beside(bitcast(x, u16)), u32));
  };
  return low.beside(half(high) << 16) | half(low);
}

Pair unpack(const Operand& word, DType dtype) {
  const auto half = [&](const Expr& bits) {
    return bitcast(word.beside(cast(word.beside(bits), u16)), dtype);
  };
  return {half(word.value()), half(word >> 16)};
}

namespace x2 {
namespace {

Pair each(const char* name, ir::OpCode code, const std::vector<Pair>& args, SourceLoc where) {
  const Site site{name, where};
  Pair result;
  for (size_t lane = 0; lane < result.size(); ++lane) {
    std::vector<Expr> values;
    for (const Pair& arg : args) {
      const DType dtype = arg[lane].dtype();
      if (dtype != f16 && dtype != bf16 && dtype != f32) {
        throw Error(codes::type_06, where, "{}: not available on {}", name, dtype)
            .help("it takes f16, bf16 and f32");
      }
      values.push_back(arg[lane]);
    }
    result[lane] = element_op(site, code, values);
  }
  return result;
}

}  // namespace

Pair add(const Pair& a, const Pair& b, SourceLoc where) {
  return each("x2::add", ir::OpCode::add, {a, b}, where);
}
Pair sub(const Pair& a, const Pair& b, SourceLoc where) {
  return each("x2::sub", ir::OpCode::sub, {a, b}, where);
}
Pair mul(const Pair& a, const Pair& b, SourceLoc where) {
  return each("x2::mul", ir::OpCode::mul, {a, b}, where);
}
Pair fma(const Pair& a, const Pair& b, const Pair& c, SourceLoc where) {
  return each("x2::fma", ir::OpCode::fma, {a, b, c}, where);
}
Pair min(const Pair& a, const Pair& b, SourceLoc where) {
  return each("x2::min", ir::OpCode::min, {a, b}, where);
}
Pair max(const Pair& a, const Pair& b, SourceLoc where) {
  return each("x2::max", ir::OpCode::max, {a, b}, where);
}
Pair abs(const Pair& a, SourceLoc where) { return each("x2::abs", ir::OpCode::abs, {a}, where); }

}  // namespace x2

}  // namespace lang
}  // namespace tw
