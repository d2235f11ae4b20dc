#include "tilewright/runtime/bind.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>

#include "tilewright/base/codes.h"
#include "tilewright/base/convert.h"
#include "tilewright/base/error.h"
#include "tilewright/runtime/call_errors.h"
#include "tilewright/runtime/overlap.h"

namespace tw::runtime {
namespace {

// Which dtype an argument may have in place of a parameter's: how many elements of the parameter
// one element of the argument holds along the innermost dimension; 0 where it isn't accepted.
struct Alias {
  Scalar param, arg;
  uint8_t elements;
};
constexpr Alias kAliases[] = {
    {Scalar::boolean, Scalar::u8, 1}, {Scalar::u8, Scalar::boolean, 1},
    {Scalar::tf32, Scalar::f32, 1},   {Scalar::e4m3, Scalar::u8, 1},
    {Scalar::e5m2, Scalar::u8, 1},    {Scalar::e8m0, Scalar::u8, 1},
    {Scalar::e8m0, Scalar::u32, 4},   {Scalar::e8m0, Scalar::i32, 4},
    {Scalar::e2m1, Scalar::u8, 2},    {Scalar::e2m1, Scalar::i8, 2},
};

int elements_per_argument(DType param, DType arg) {
  if (param == arg) return 1;
  if (param.lanes != 1 || arg.lanes != 1) return 0;
  for (const Alias& alias : kAliases) {
    if (alias.param == param.scalar && alias.arg == arg.scalar) return alias.elements;
  }
  return 0;
}

// A tensor of words seen as one of the `factor` elements in each. Needs an innermost stride of 1.
Tensor unpacked(const Tensor& words, DType dtype, int factor) {
  Shape shape = words.shape(), strides = words.strides();
  const int last = shape.rank() - 1;
  for (int i = 0; i < last; ++i) strides[i] *= factor;
  shape[last] *= factor;
  strides[last] = 1;
  return {words.data(), dtype, shape, strides, words.device()};
}

// Distance between the first and the last element, plus one; saturates.
int64_t span_of(const Tensor& tensor) {
  int64_t span = 1;
  for (int i = 0; i < tensor.rank(); ++i) {
    const int64_t extent = tensor.dim(i);
    if (extent == 0) return 0;
    if (extent == 1) continue;
    const int64_t stride = std::abs(std::max(tensor.stride(i), -INT64_MAX));
    if (__builtin_add_overflow(span, saturating_product(extent - 1, stride), &span))
      return INT64_MAX;
  }
  return span;
}

constexpr uint64_t bit(size_t i) { return uint64_t{1} << i; }

// Calls `visit` with the index of each bit that is set.
template <class Visit>
void for_each_bit(uint64_t set, Visit visit) {
  for (; set != 0; set &= set - 1) visit(static_cast<size_t>(std::countr_zero(set)));
}

bool is_given_tensor(const Param& param) {
  return param.is_tensor() && param.kind != ParamKind::workspace;
}

}  // namespace

ArgumentTable::ArgumentTable(const KernelMetadata& metadata) : metadata_(metadata) {
  const auto add_rows = [&](size_t param, const std::vector<HostExpr>& entries, bool is_stride) {
    for (size_t d = 0; d < entries.size(); ++d) {
      const HostExpr& e = entries[d];
      const bool constant = e.is_constant();
      rows_.push_back({e, e.symbols(), constant ? e.constant() : 0,
                       static_cast<int16_t>(e.as_symbol()), constant, is_stride,
                       static_cast<uint8_t>(param), static_cast<uint8_t>(d)});
    }
  };
  for (size_t i = 0; i < metadata.params.size(); ++i) {
    const Param& param = metadata.params[i];
    const auto first = static_cast<uint16_t>(rows_.size());
    if (param.is_tensor()) {
      add_rows(i, param.shape, false);
      add_rows(i, param.strides, true);
    }
    params_.push_back({first, static_cast<uint16_t>(rows_.size()),
                       static_cast<uint8_t>(param.shape.size()), param.kind, param.dtype,
                       param.strides.empty(), param.nullable, param.align - 1,
                       static_cast<uint8_t>(full_count_), static_cast<uint8_t>(short_count_)});
    if (param.kind == ParamKind::workspace) continue;
    ++full_count_;
    short_count_ += param.kind != ParamKind::output;
  }
  for (size_t i = 0; i < metadata.symbols.size(); ++i) {
    const int param = metadata.symbols[i].param;
    if (param >= 0) params_[static_cast<size_t>(param)].symbol = static_cast<int8_t>(i);
  }
  uint64_t reaching = 0;
  for (size_t i = 0; i < metadata.params.size(); ++i) {
    for (size_t j = 0; j < metadata.params.size(); ++j) {
      const Param &out = metadata.params[i], &other = metadata.params[j];
      if (!is_given_tensor(out) || out.kind == ParamKind::input || !is_given_tensor(other))
        continue;
      const bool twice = other.kind != ParamKind::input && j >= i;
      if (twice || (out.no_restrict && other.no_restrict)) continue;
      apart_.emplace_back(static_cast<uint8_t>(i), static_cast<uint8_t>(j));
      reaching |= bit(i) | bit(j);
    }
  }
  for_each_bit(reaching, [&](size_t i) { reaching_.push_back(static_cast<uint8_t>(i)); });
  for (const bool tensors : {false, true}) {
    for (size_t i = 0; i < metadata.params.size(); ++i) {
      const Param& param = metadata.params[i];
      if (param.kind == ParamKind::workspace || param.is_tensor() != tensors) continue;
      order_.push_back(static_cast<uint8_t>(i));
    }
  }
}

// 1. Each argument is checked by itself, scalars first, since sizes may depend on them. Symbols are
//    solved on the way, in the order of the entries; an entry that needs a symbol which only a
//    later one gives is left pending.
// 2. Pending entries are checked until none can make progress.
// 3. Symbols that no argument gave (strides of a dimension with one element, sizes of null tensors)
//    get a value that keeps their facts. Then the facts of all are checked.
void ArgumentTable::bind(std::span<const Arg> args, Binding& binding) const {
  const bool full = args.size() == full_count_;
  if (!full && args.size() != short_count_) CallErrors(*this).count(args.size());
  binding.known = binding.omitted = binding.pending = 0;
  binding.device = {metadata_.device, -1};  // of no tensor yet
  std::fill_n(binding.tensors, params_.size(), nullptr);
  for (const uint8_t i : order_) {
    const ParamRow& p = params_[i];
    if (p.kind == ParamKind::output && !full) {
      binding.omitted |= bit(i);
      continue;
    }
    const Arg& arg = args[full ? p.arg : p.short_arg];
    if (p.kind == ParamKind::scalar) {
      bind_scalar(i, arg, binding);
      if (p.symbol >= 0) {
        binding.symbols[p.symbol] = binding.scalars[i];
        binding.known |= bit(static_cast<size_t>(p.symbol));
      }
    } else if (p.kind == ParamKind::pointer) {
      bind_pointer(i, arg, binding);
    } else if (p.kind == ParamKind::output && arg.kind() == Arg::Kind::null && !p.nullable) {
      binding.omitted |= bit(i);
    } else {
      bind_tensor(i, arg, binding);
    }
  }
  if (binding.pending != 0) check_pending(binding);
  const uint64_t all =
      metadata_.symbols.size() == 64 ? ~uint64_t{0} : bit(metadata_.symbols.size()) - 1;
  if (binding.known != all && binding.omitted == 0) settle_unknown(binding);
  check_facts(binding);
}

void ArgumentTable::bind_tensor(size_t param, const Arg& arg, Binding& binding) const {
  const ParamRow& p = params_[param];
  if (arg.kind() != Arg::Kind::tensor) {
    if (arg.kind() != Arg::Kind::null) CallErrors(*this).kind(param, arg);
    if (!p.nullable) CallErrors(*this).null(param);
    binding.raw[param] = 0;
    return;
  }
  const Tensor* tensor = &arg.tensor();
  if (tensor->dtype() != p.dtype) {
    const int factor = elements_per_argument(p.dtype, tensor->dtype());
    if (factor == 0) CallErrors(*this).dtype(param, tensor->dtype());
    if (factor > 1) {
      if (tensor->rank() != p.rank || p.rank == 0) CallErrors(*this).rank(param, *tensor);
      if (tensor->dim(-1) > 1 && tensor->stride(-1) != 1) {
        CallErrors(*this).packed_stride(param, *tensor);
      }
      binding.keep(param, unpacked(*tensor, p.dtype, factor));
      tensor = binding.tensors[param];
    }
  }
  binding.tensors[param] = tensor;
  check_tensor(param, *tensor, binding);
}

void ArgumentTable::check_tensor(size_t param, const Tensor& tensor, Binding& binding) const {
  const ParamRow& p = params_[param];
  if (tensor.rank() != p.rank) CallErrors(*this).rank(param, tensor);
  const Device device = tensor.device();
  if (device.kind != binding.device.kind ||
      (binding.device.id >= 0 && device.id != binding.device.id)) {
    CallErrors(*this).device(param, device, binding);
  }
  binding.device = device;
  for (size_t r = p.first_row; r < p.last_row; ++r) {
    const EntryRow& row = rows_[r];
    int64_t actual;
    if (row.is_stride) {
      if (tensor.dim(row.dim) <= 1) continue;
      actual = tensor.stride(row.dim);
    } else {
      actual = tensor.dim(row.dim);
    }
    if (!check_row(r, actual, binding)) binding.pending |= bit(param);
  }
  if (p.compact) check_compact(param, tensor);
  const auto address = reinterpret_cast<uintptr_t>(tensor.data());
  binding.raw[param] = address;
  const bool misaligned = (address & static_cast<uint64_t>(p.align_mask)) != 0;
  if ((misaligned || address == 0) && tensor.numel() != 0) {
    if (address == 0 && !p.nullable) CallErrors(*this).null(param);
    if (misaligned) CallErrors(*this).alignment(param, address);
  }
  if (metadata_.index_bits == 32) {
    const int64_t span = span_of(tensor);
    if (span > int64_t{1} << 31) CallErrors(*this).index_width(param, span);
  }
}

void ArgumentTable::check_compact(size_t param, const Tensor& tensor) const {
  int64_t expected = 1;
  for (int d = tensor.rank() - 1; d >= 0; --d) {
    const int64_t extent = tensor.dim(d);
    if (extent > 1 && tensor.stride(d) != expected) [[unlikely]] {
      if (tensor.numel() == 0) return;  // no element is read
      CallErrors(*this).compact(param, d, expected, tensor.stride(d));
    }
    expected = saturating_product(expected, extent);
  }
}

// Whether the row is done; else it needs a symbol that isn't known yet.
bool ArgumentTable::check_row(size_t r, int64_t actual, Binding& binding) const {
  const EntryRow& row = rows_[r];
  if (row.is_constant) {
    if (actual != row.constant) CallErrors(*this).entry(r, actual, binding);
    return true;
  }
  const uint64_t unknown = row.needs & ~binding.known;
  if (unknown == 0) {
    const int64_t expected =
        row.symbol >= 0 ? binding.symbols[row.symbol] : row.expr.evaluate(binding.values());
    if (actual != expected) CallErrors(*this).entry(r, actual, binding);
    return true;
  }
  if (row.symbol < 0) {
    const bool single = std::has_single_bit(unknown);
    return single && solve(r, std::countr_zero(unknown), actual, binding);
  }
  binding.symbols[row.symbol] = actual;
  binding.solved_by[row.symbol] = static_cast<uint16_t>(r);
  binding.known |= unknown;
  return true;
}

// Solves a * s + b = actual, where a and b follow from the value of the expression at 0 and 1.
bool ArgumentTable::solve(size_t r, int symbol, int64_t actual, Binding& binding) const {
  const EntryRow& row = rows_[r];
  if (!row.expr.is_affine_in(symbol)) return false;
  int64_t& s = binding.symbols[symbol];
  s = 0;
  const int64_t b = row.expr.evaluate(binding.values());
  s = 1;
  const int64_t a = row.expr.evaluate(binding.values()) - b;
  if (a == 0) return false;  // for example n * s with n = 0: any s will do
  s = (actual - b) / a;
  if (s < 0 || row.expr.evaluate(binding.values()) != actual) {
    CallErrors(*this).unsolvable(r, actual, binding);
  }
  binding.solved_by[symbol] = static_cast<uint16_t>(r);
  binding.known |= bit(static_cast<size_t>(symbol));
  return true;
}

void ArgumentTable::check_pending(Binding& binding) const {
  uint64_t before;
  do {
    before = binding.known;
    uint64_t still = 0;
    for_each_bit(binding.pending, [&](size_t param) {
      const Tensor& tensor = *binding.tensors[param];
      for (size_t r = params_[param].first_row; r < params_[param].last_row; ++r) {
        const EntryRow& row = rows_[r];
        if (row.is_stride && tensor.dim(row.dim) <= 1) continue;
        const int64_t actual = row.is_stride ? tensor.stride(row.dim) : tensor.dim(row.dim);
        if (!check_row(r, actual, binding)) still |= bit(param);
      }
    });
    binding.pending = still;
  } while (binding.pending != 0 && binding.known != before);
}

void ArgumentTable::settle_unknown(Binding& binding) const {
  for (size_t i = 0; i < metadata_.symbols.size(); ++i) {
    if ((binding.known & bit(i)) != 0) continue;
    const Symbol& symbol = metadata_.symbols[i];
    const int64_t m = symbol.multiple_of;
    binding.symbols[i] = std::max<int64_t>(0, (symbol.min + m - 1) / m * m);
    binding.solved_by[i] = UINT16_MAX;
    binding.known |= bit(i);
  }
  if (binding.pending != 0) check_pending(binding);
}

void ArgumentTable::check_facts(const Binding& binding) const {
  for (size_t i = 0; i < metadata_.symbols.size(); ++i) {
    if ((binding.known & bit(i)) == 0) continue;
    const Symbol& fact = metadata_.symbols[i];
    const int64_t value = binding.symbols[i];
    if (value < fact.min || value > fact.max ||
        (fact.multiple_of != 1 && value % fact.multiple_of != 0)) {
      CallErrors(*this).fact(i, binding);
    }
  }
}

void ArgumentTable::bind_scalar(size_t param, const Arg& arg, Binding& binding) const {
  const DType dtype = params_[param].dtype;
  const Arg::Kind kind = arg.kind();
  const auto accept = [&](bool condition) {
    if (!condition) [[unlikely]]
      CallErrors(*this).scalar(param, arg);
  };
  if (kind == Arg::Kind::null || kind == Arg::Kind::tensor || kind == Arg::Kind::address) {
    CallErrors(*this).kind(param, arg);
  }
  if (dtype.is_float()) {
    double value = 0;
    switch (kind) {
      case Arg::Kind::real:
        value = arg.real();
        break;
      case Arg::Kind::integer:
        value = static_cast<double>(arg.integer());
        break;
      case Arg::Kind::unsigned_integer:
        value = static_cast<double>(static_cast<uint64_t>(arg.integer()));
        break;
      default:
        accept(false);
    }
    if (dtype == f32) {  // the common case, without a table
      accept(!(std::abs(value) > max_finite(f32)) || std::isinf(value));
      binding.raw[param] = std::bit_cast<uint32_t>(static_cast<float>(value));
    } else {
      accept(can_hold(dtype, value));
      binding.raw[param] = encode(value, dtype);
    }
    return;
  }
  accept(kind != Arg::Kind::real);
  const int64_t value = arg.integer();
  const bool wraps = kind == Arg::Kind::unsigned_integer && value < 0;  // above the largest i64
  accept(wraps ? dtype == u64 : can_hold(dtype, value));
  binding.scalars[param] = value;
  binding.raw[param] = static_cast<uint64_t>(value) & (~uint64_t{0} >> (64 - dtype.bits()));
}

void ArgumentTable::bind_pointer(size_t param, const Arg& arg, Binding& binding) const {
  uint64_t address = 0;
  switch (arg.kind()) {
    case Arg::Kind::null:
      break;
    case Arg::Kind::address:
      address = static_cast<uint64_t>(arg.integer());
      break;
    case Arg::Kind::tensor:
      address = reinterpret_cast<uintptr_t>(arg.tensor().data());
      break;
    default:
      CallErrors(*this).kind(param, arg);
  }
  if (address == 0 && !params_[param].nullable) CallErrors(*this).null(param);
  if ((address & static_cast<uint64_t>(params_[param].align_mask)) != 0) {
    CallErrors(*this).alignment(param, address);
  }
  binding.raw[param] = address;
}

void ArgumentTable::check_apart(const Binding& binding, bool in_place) const {
  Reach reaches[kMaxParams];
  for (const uint8_t i : reaching_) {
    const Tensor* tensor = binding.tensors[i];
    reaches[i] = tensor == nullptr ? Reach{} : reach_of(*tensor);
  }
  for (const auto& [out, other] : apart_) {
    if (!reaches[out].meets(reaches[other])) [[likely]]
      continue;
    const Tensor &x = *binding.tensors[other], &y = *binding.tensors[out];
    const bool same = x.data() == y.data() && x.dtype() == y.dtype() && x.shape() == y.shape() &&
                      x.strides() == y.strides();
    const bool input = params_[other].kind == ParamKind::input;
    if ((in_place && same && input) || !share_memory(x, y)) continue;
    CallErrors(*this).shared(out, other, binding);
  }
}

Shape ArgumentTable::shape_of(size_t param, const Binding& binding) const {
  const std::vector<HostExpr>& entries = metadata_.params[param].shape;
  Shape shape = Shape::filled(static_cast<int>(entries.size()), 0);
  for (int d = 0; d < shape.rank(); ++d) {
    const HostExpr& entry = entries[static_cast<size_t>(d)];
    if ((entry.symbols() & ~binding.known) != 0) {
      throw Error(codes::prog_06, {}, "{}: {}.shape[{}] = {} doesn't follow from the arguments",
                  metadata_.name, metadata_.params[param].name, d,
                  to_text(entry, names_of(metadata_)))
          .help("pass {} explicitly", metadata_.params[param].name);
    }
    shape[d] = std::max<int64_t>(0, entry.evaluate(binding.values()));
  }
  return shape;
}

void ArgumentTable::bind_output(size_t param, const Tensor& tensor, Binding& binding) const {
  binding.keep(param, tensor);
  check_tensor(param, tensor, binding);
  binding.omitted &= ~bit(param);
  if (binding.omitted != 0) return;
  if (binding.pending != 0) check_pending(binding);
  settle_unknown(binding);
  check_facts(binding);
}

}  // namespace tw::runtime
