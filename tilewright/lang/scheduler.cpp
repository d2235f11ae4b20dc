#include "tilewright/lang/scheduler.h"

#include "tilewright/ir/build.h"
#include "tilewright/lang/math.h"
#include "tilewright/lang/operators.h"

namespace tw {
inline namespace lang {

void persistent(const Extents& domain, const PersistentOptions& options, const Body& body,
                SourceLoc where) {
  const Site site{"persistent", where};
  if (domain.empty() || !options.wave.ir() || !options.index.ir()) {
    throw Error({}, where, "persistent: it needs a domain, .wave and .index");
  }
  // The enlarged domain [cdiv(L, g), d0, ..., d(n-1), g] in mixed radix, with L the last extent.
  const auto line = [&](const Expr& e) { return Operand(e, where); };
  const auto once = [&](const Expr& e) { return e.is_const() ? e : let(line(e), "tile"); };
  const Expr last = domain.back();
  const Expr group = once(min(line(max(line(options.group), 1)), max(line(last), 1)));
  std::vector<Expr> radix = {cdiv(line(last), group)};
  radix.insert(radix.end(), domain.begin(), domain.end() - 1);
  radix.push_back(group);
  Expr count = radix[0];
  for (size_t d = 1; d < radix.size(); ++d) count = line(count) * radix[d];

  serial(line(options.index), count, options.wave, [&](Expr linear) {
    std::vector<Expr> digits(radix.size());
    for (size_t d = radix.size(); d-- > 1;) {
      digits[d] = floormod(line(linear), radix[d]);
      linear = floordiv(line(linear), radix[d]);
    }
    digits[0] = linear;
    std::vector<Expr> tile(digits.begin() + 1, digits.end() - 1);
    const Expr coordinate = once(line(digits[0]) * group + digits.back());
    tile.push_back(coordinate);
    if_(line(line(coordinate) < last), [&] { body.run(site, tile); });
  });
}

TileScheduler::TileScheduler(const Operand& num_m, const Operand& num_n, const Operand& first,
                             const Operand& workers, const TileSchedulerOptions& options)
    : num_m_(num_m.value()),
      num_n_(num_n.value()),
      workers_(workers.value()),
      options_(options),
      id_(var(i64, first, "tile_id")) {}

Expr TileScheduler::valid(SourceLoc where) const {
  return Operand(id_, where) < Operand(num_m_, where) * num_n_;
}

std::pair<Expr, Expr> TileScheduler::coord(SourceLoc where) const {
  const auto line = [&](const Expr& e) { return Operand(e, where); };
  const Expr p = options_.column_major ? num_m_ : num_n_,
             q = options_.column_major ? num_n_ : num_m_;
  const int64_t s = options_.swizzle;
  const Expr id = let(Operand(id_, where), "id");
  const Expr group = let(line(floordiv(line(id), line(p) * s)), "group");
  const Expr base = line(group) * s;
  const Expr width = let(line(max(line(min(line(line(q) - base), s)), 1)), "width");
  const Expr rest = let(line(line(id) - line(group) * (line(p) * s)), "rest");
  const Expr primary = floordiv(line(rest), width);
  const Expr secondary = line(base) + floormod(line(rest), width);
  return options_.column_major ? std::pair(primary, secondary) : std::pair(secondary, primary);
}

void TileScheduler::next(SourceLoc where) { id_ += Operand(workers_, where); }

}  // namespace lang
}  // namespace tw
