// y = f(x0, x1, ...).
// Memory bound where f keeps up: each tensor is read or written once.
#include "tilewright/kernels/elementwise.h"

#include "tilewright/jit/jit.h"
#include "tilewright/kernels/check.h"
#include "tilewright/kernels/elementwise/iteration.h"
#include "tilewright/kernels/work.h"
#include "tilewright/lang/lang.h"

namespace tw::kernels {
namespace {

constexpr const char* kNames[] = {"a", "b", "c", "d"};

Expr widened(const Expr& x) {
  return x.dtype().is_float() && x.dtype().bits() < 32 ? cast(x, f32) : x;
}

/// Tensor `number` of the iteration as a parameter: y is the last.
Buffer param(Builder& k, const Case& c, size_t number, const Extents& shape) {
  const bool is_output = number + 1 == c.dtypes.size();
  const std::string name = is_output ? "y" : kNames[number];
  Extents strides;
  for (size_t d = 0; d + 1 < shape.size(); ++d) strides.push_back(k.dim(format("{}_{}", name, d)));
  const Along along = along_of(k.constant("along"), number);
  strides.push_back(along == Along::neighbors ? Expr(1)
                    : along == Along::one     ? Expr(0)
                                              : k.dim(name + "_h"));
  return is_output ? k.output(name, c.dtype(number), shape, {.strides = strides})
                   : k.input(name, c.dtype(number), shape, {.strides = strides});
}

/// All dimensions but the last are numbered together as rows; a block has some rows of a strip of
/// columns. Past the last row the first index is outside its dimension, and nothing is stored.
void dataflow(Builder& k, const Case& c, const Elementwise::Function& f) {
  Extents shape, at;
  Expr outer = 1;
  for (int64_t d = 0; d + 1 < k.constant("rank"); ++d) {
    shape.push_back(k.dim(format("d{}", d)));
    outer = outer * shape.back();
  }
  const Expr h = k.dim("h");
  shape.push_back(h);
  const int64_t several = k.tunable("rows", 1), width = k.tunable("width", 4096);
  const int64_t rows = shape.size() > 1 ? several : 1;
  std::vector<Buffer> tensors;
  for (size_t i = 0; i < c.dtypes.size(); ++i) tensors.push_back(param(k, c, i, shape));
  const Expr parts = cdiv(h, width);
  k.launch({cdiv(outer, rows) * parts}, [&](Expr block) {  // GPUs limit the other dimensions
    // One row needs no division, for which the first load would wait.
    const Expr strip = shape.size() > 1 ? let(block / parts) : Expr(int64_t{0});
    const Expr first = let((block - strip * parts) * width);
    assume(0 <= strip && strip * rows < outer && 0 <= first);
    parallel({rows, width}, [&](Expr i, Expr j) {
      std::vector<Index> index(shape.size(), Index(first + j));
      Expr rest = strip * rows + i;
      for (size_t d = shape.size() - 1; d-- > 1;) {
        const Expr above = rest / shape[d];
        index[d] = rest - above * shape[d];
        rest = above;
      }
      if (shape.size() > 1) index[0] = rest;
      std::vector<Expr> values;
      for (size_t n = 0; n + 1 < tensors.size(); ++n) {
        values.push_back(widened(tensors[n].part(index)));
      }
      tensors.back().part(index) = cast(f(values), c.dtypes.back());
    });
  });
}

/// A block has `elements` of rows of `width`, or one row.
template <int64_t kWidth>
void tile(Schedule& s, int64_t elements) {
  s.set("width", std::min(kWidth, elements)).set("rows", std::max<int64_t>(elements / kWidth, 1));
}

/// What a block of 128 threads on a GPU has: of each input so many vectors of 16 bytes a thread.
/// Measured on an H200 with copies, four vectors are 3 % faster than two in the cache and 4 %
/// slower from memory; with silu they are 8 % slower in the cache too.
int64_t of_threads(const Case& c) {
  int bits = 8;
  for (const DType dtype : c.dtypes) bits = std::max(bits, dtype.bits());
  const int64_t vectors = c.dtypes.size() > 2 ? 1 : c.constant("many_vectors") != 0 ? 4 : 2;
  return vectors * 128 * 128 / bits;
}

/// Short rows share a block.
KernelDef definition(const std::string& name, const Elementwise::Function& f) {
  const auto at_least = [](int64_t width) {
    return [width](const Sizes& size) { return size("h") >= width; };
  };
  KernelDef def = define_kernel(name, [f](Builder& k, const Case& c) { dataflow(k, c, f); });
  def.schedule("cuda", [](Schedule& s, const Case& c) { tile<1 << 20>(s, of_threads(c)); });
  def.when(at_least(512));
  def.schedule("cuda", [](Schedule& s, const Case& c) { tile<128>(s, of_threads(c)); });
  def.when(at_least(64));
  def.schedule("cuda", [](Schedule& s, const Case& c) { tile<16>(s, of_threads(c)); });
  def.schedule(targets::cpu, [](Schedule& s, const Case&) { tile<4096>(s, 4096); });
  def.when(at_least(128));
  def.schedule(targets::cpu, [](Schedule& s, const Case&) { tile<16>(s, 4096); });
  return def;
}

}  // namespace

struct Elementwise::Kernels {
  Kernels(KernelDef definition, bool is_costly) : jit(std::move(definition)), costly(is_costly) {}
  Jit jit;
  bool costly;

  const Kernel& of(const std::vector<Tensor>& t, const Iteration& over) const {
    const DeviceKind device = t.back().device().kind;
    const bool many_vectors =
        t.size() == 2 && !costly && work_of(t[0].bytes() + t[1].bytes(), device) != Work::much;
    const std::initializer_list<Constant> constants = {
        {"rank", over.rank()}, {"along", over.along()}, {"many_vectors", many_vectors}};
    const auto dtype = [&](size_t i) { return t[i].dtype(); };
    switch (t.size()) {
      case 2:
        return jit({dtype(0), dtype(1)}, constants, device);
      case 3:
        return jit({dtype(0), dtype(1), dtype(2)}, constants, device);
      case 4:
        return jit({dtype(0), dtype(1), dtype(2), dtype(3)}, constants, device);
      default:
        return jit({dtype(0), dtype(1), dtype(2), dtype(3), dtype(4)}, constants, device);
    }
  }
};

Elementwise::Elementwise(std::string name, size_t inputs, Function f, bool costly)
    : name_(std::move(name)),
      inputs_(inputs),
      kernels_(std::make_unique<Kernels>(definition(name_, f), costly)) {
  TW_REQUIRE(inputs >= 1 && inputs <= kMostInputs, "{}: {} inputs, it may have 1 to {}", name_,
             inputs, kMostInputs);
}
Elementwise::~Elementwise() = default;

void Elementwise::operator()(const std::vector<Tensor>& inputs, const Tensor& y,
                             Stream stream) const {
  TW_REQUIRE(inputs.size() == inputs_, "{}: {} inputs are given, it has {}", name_, inputs.size(),
             inputs_);
  std::vector<Tensor> all;
  for (size_t i = 0; i < inputs.size(); ++i) {
    check_apart(name_, {"y", y}, {{kNames[i], inputs[i]}}, /*in_place=*/true);
    all.push_back(broadcast_to(name_, {kNames[i], inputs[i]}, y.shape()));
  }
  all.push_back(y);
  if (y.numel() == 0) return;
  const Iteration over(name_, all);
  std::vector<Arg> args(over.tensors().begin(), over.tensors().end());
  kernels_->of(all, over)(args, {.stream = stream, .in_place = true});
}

}  // namespace tw::kernels
