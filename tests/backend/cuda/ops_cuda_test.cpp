// Every element operation and conversion on a device, over boundary values: the bits of the
// interpreter, or for functions that approximate a distance from the exact value.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/backend/cuda/cases.h"
#include "tilewright/backend/cuda/compile.h"
#include "tilewright/backend/cuda/device/gpu.h"
#include "tilewright/backend/cuda/device/module.h"
#include "tilewright/backend/cuda/toolchain/find_nvrtc.h"
#include "tilewright/backend/metadata_of.h"
#include "tilewright/base/convert.h"
#include "tilewright/base/error.h"
#include "tilewright/runtime/call.h"
#include "tilewright/sim/element.h"

namespace tw::cuda {
namespace {

using ir::Bits;
using ir::Exactness;
using ir::OpCode;
using test::CastCase;
using test::OpCase;

constexpr int64_t kCount = 65536;

/// Elements of a type, packed as in memory.
class Elements {
 public:
  Elements(DType dtype, int64_t count)
      : dtype_(dtype), bytes_(static_cast<size_t>((count * dtype.bits() + 7) / 8)) {}
  Bits operator[](int64_t i) const {
    const int64_t bit = i * dtype_.bits();
    Bits value = 0;
    std::memcpy(&value, bytes_.data() + bit / 8, static_cast<size_t>((dtype_.bits() + 7) / 8));
    return dtype_.is_sub_byte() ? value >> bit % 8 & 15 : value;
  }
  void set(int64_t i, Bits value) {
    const int64_t bit = i * dtype_.bits();
    if (dtype_.is_sub_byte())
      value = (bytes_[static_cast<size_t>(bit / 8)] & (i % 2 == 0 ? 0xF0 : 0xF)) | value << bit % 8;
    std::memcpy(bytes_.data() + bit / 8, &value, static_cast<size_t>((dtype_.bits() + 7) / 8));
  }
  std::vector<unsigned char>& bytes() { return bytes_; }
  const std::vector<unsigned char>& bytes() const { return bytes_; }

 private:
  DType dtype_;
  std::vector<unsigned char> bytes_;
};

/// Runs a program of one launch on tensors of kCount elements; the outputs come back.
std::vector<Elements> run(const ir::Program& program, const std::vector<Elements>& inputs) {
  const ContextScope scope(Gpu::numbered(0));
  const std::string name = resolve_target("cuda");
  const Target& target = target_named(name);
  runtime::KernelMetadata metadata = backend::metadata_of(program, name, DeviceKind::cuda);
  backend::CompileReport report;
  const runtime::Artifact artifact =
      compile_source(emit(program, metadata), metadata, program, target, report);
  std::shared_ptr<runtime::Module> module = load_cubin(artifact);
  const runtime::LoadedKernel kernel(artifact.metadata, std::move(module));

  std::vector<CUdeviceptr> memory;
  std::vector<Tensor> tensors;
  tensors.reserve(program.params.size());  // arguments refer to them
  std::vector<Arg> args;
  std::vector<Elements> values;
  for (size_t i = 0; i < program.params.size(); ++i) {
    const DType dtype = program.params[i].buffer.dtype();
    values.push_back(i < inputs.size() ? inputs[i] : Elements(dtype, kCount));
    const std::vector<unsigned char>& bytes = values.back().bytes();
    memory.emplace_back();
    require_success(driver(), driver().memory_allocate(&memory.back(), bytes.size()), "allocating");
    require_success(driver(), driver().copy_to_device(memory.back(), bytes.data(), bytes.size()),
                    "copying");
    args.emplace_back(tensors.emplace_back(reinterpret_cast<void*>(memory.back()), dtype,
                                           Shape{kCount}, Device{DeviceKind::cuda, 0}));
  }
  kernel(args, {});
  require_success(driver(), driver().context_synchronize(), "waiting");
  std::vector<Elements> outputs;
  for (size_t i = 0; i < memory.size(); ++i) {
    std::vector<unsigned char>& bytes = values[i].bytes();
    if (i >= inputs.size()) {
      require_success(driver(), driver().copy_to_host(bytes.data(), memory[i], bytes.size()),
                      "copying");
      outputs.push_back(values[i]);
    }
    driver().memory_free(memory[i]);
  }
  return outputs;
}

/// 256 values of a type that operations treat differently from others, and random ones.
std::vector<Bits> corners(DType dtype) {
  std::vector<Bits> values;
  std::mt19937_64 random(dtype.bits());
  const int bits = dtype.bits();
  const Bits mask = bits == 64 ? ~Bits{0} : (Bits{1} << bits) - 1;
  if (dtype.is_bool()) {
    for (int i = 0; i < 256; ++i) values.push_back(i % 2);
    return values;
  }
  if (bits == 8) {
    for (Bits i = 0; i < 256; ++i) values.push_back(i);
    return values;
  }
  if (dtype.is_float()) {
    const double infinity = std::numeric_limits<double>::infinity();
    for (const double x :
         {0.0,     0.5,       1.0,       1.5,     2.0,       2.5,      3.0,
          7.0,     0.1,       1e-3,      1e3,     1e-6,      1e6,      1e-30,
          1e30,    88.5,      89.0,      104.0,   127.0,     128.0,    149.5,
          3.14159, 1.0000001, 0.9999999, 65504.0, 8388608.5, infinity, max_finite(dtype)}) {
      values.push_back(encode(x, dtype));
      values.push_back(encode(-x, dtype));
    }
    values.push_back(encode(std::nan(""), dtype));
    for (const Bits tiny : {1, 2, 3, 1000}) {
      values.push_back(dtype == tf32 ? tiny << 13 : tiny);
      values.push_back(values.back() | Bits{1} << (bits - 1));
    }
  } else {
    for (Bits i = 0; i < 20; ++i) values.insert(values.end(), {i & mask, (0 - i) & mask});
    for (int shift = 4; shift < bits; shift += 5) {
      const Bits power = Bits{1} << shift;
      values.insert(values.end(), {power, power - 1, (0 - power) & mask});
    }
    values.insert(values.end(), {mask >> 1, (mask >> 1) + 1, mask});
  }
  while (values.size() < 256) {
    Bits x = random() & mask;
    if (!dtype.is_float()) x >>= random() % static_cast<Bits>(bits);
    if (dtype == tf32) x &= ~Bits{0x1FFF};
    // Half of the random floats near 1, where functions do something.
    if (dtype.is_float() && values.size() % 2 == 0) {
      x = encode(std::ldexp(static_cast<double>(random() >> 11), -50) - 4.0, dtype);
    }
    values.push_back(x);
  }
  values.resize(256);
  return values;
}

/// Operations whose results the language does not fix, and how far, in units of the last place,
/// CUDA's may be from the exact value (CUDA C++ Programming Guide 13.0, mathematical functions).
int allowed_ulps(OpCode code) {
  switch (code) {
    case OpCode::exp:
    case OpCode::exp2:
    case OpCode::exp10:
    case OpCode::rsqrt:
    case OpCode::log10:
    case OpCode::sin:
    case OpCode::cos:
    case OpCode::erf:
    case OpCode::tanh:
    case OpCode::cosh:
    case OpCode::acos:
    case OpCode::asin:
    case OpCode::atan:
      return 2;
    case OpCode::log:
    case OpCode::log2:
    case OpCode::expm1:
    case OpCode::log1p:
    case OpCode::cbrt:
    case OpCode::rcp:
      return 1;
    case OpCode::hypot:
    case OpCode::atan2:
    case OpCode::sinh:
    case OpCode::asinh:
    case OpCode::atanh:
      return 3;
    case OpCode::pow:
    case OpCode::tan:
    case OpCode::acosh:
    case OpCode::erfc:
      return 5;
    default:
      return -1;
  }
}

/// The bits as a number that grows with the value by 1 from each float to the next.
int64_t place_of(Bits bits, DType dtype) {
  const int width = dtype.bits();
  const Bits sign = Bits{1} << (width - 1);
  const auto magnitude = static_cast<int64_t>(bits & ~sign);
  return (bits & sign) != 0 ? -magnitude : magnitude;
}

/// Whether a result is near enough. `exact` is computed in f64 (or, for f64, by the interpreter).
bool is_near(Bits found, double exact, DType dtype, int ulps) {
  const Bits wanted = encode(exact, dtype);
  if (is_nan(found, dtype) || is_nan(wanted, dtype)) {
    return is_nan(found, dtype) && is_nan(wanted, dtype);
  }
  const int64_t distance = std::abs(place_of(found, dtype) - place_of(wanted, dtype));
  // What is computed in f32 and rounded can only be off by one.
  const int64_t unit = dtype == tf32 ? 1 << 13 : 1;
  const int64_t most = dtype == f32 || dtype == f64 ? ulps + 1 : unit;
  return distance <= most;
}

class OpsOnDevice : public testing::TestWithParam<DType> {
 protected:
  void SetUp() override {
    if (find_driver().devices.empty()) GTEST_SKIP() << find_driver().reason;
    if (target_for(find_driver().devices[0].major, find_driver().devices[0].minor) == nullptr) {
      GTEST_SKIP() << "device 0 is of no target: " << find_driver().devices[0].name;
    }
    if (nvrtc_file().path.empty()) GTEST_SKIP() << "no NVRTC: " << nvrtc_file().missing;
  }
};

/// Failures of one case; the rest of them are only counted.
class Failures {
 public:
  explicit Failures(std::string what) : what_(std::move(what)) {}
  ~Failures() {
    if (count_ > 3) ADD_FAILURE() << what_ << ": " << count_ << " failures in all";
  }
  template <class... Args>
  void add(fmt::format_string<Args...> text, Args&&... args) {
    if (++count_ <= 3) ADD_FAILURE() << what_ << tw::format(text, std::forward<Args>(args)...);
  }

 private:
  std::string what_;
  int count_ = 0;
};

void expect_op(DType dtype, const OpCase& c, const std::vector<Elements>& x, const Elements& y) {
  const ir::OpRow& row = ir::op_row(c.code);
  const DType result = test::result_type(c, dtype);
  const bool is_choice = row.op_class == ir::OpClass::choice;
  const int ulps = c.exactness == Exactness::ieee ? -1 : allowed_ulps(c.code);
  const ir::ElementFn wanted_fn = sim::element_function(c.code, dtype, c.exactness, c.rounding);
  const ir::ElementFn exact_fn = sim::element_function(c.code, f64);
  Failures failures(format("{} of {}", c.name(), dtype));
  for (int64_t i = 0; i < kCount; ++i) {
    const Bits a = x[0][i], b = x[1][i], third = x[2][i];
    if (dtype.is_signed_int() && sim::overflows(c.code, dtype, a, b)) continue;
    const Bits first = is_choice ? x[3][i] : a;
    const Bits second = is_choice ? a : b;
    const Bits last = is_choice ? b : third;
    const Bits found = y[i];
    if (ulps >= 0) {
      const double exact = decode(
          exact_fn(std::bit_cast<Bits>(decode(a, dtype)), std::bit_cast<Bits>(decode(b, dtype)), 0),
          f64);
      if (!is_near(found, exact, result, ulps)) {
        failures.add("({}, {}) is {}, must be near {}", decode(a, dtype), decode(b, dtype),
                     decode(found, result), exact);
      }
      continue;
    }
    const Bits wanted = wanted_fn(first, second, last);
    if (!same_value(found, wanted, result)) {
      failures.add("({:#x}, {:#x}, {:#x}) is {:#x}, must be {:#x}", first, second, last, found,
                   wanted);
    }
  }
}

TEST_P(OpsOnDevice, OperationsAgreeWithTheInterpreter) {
  const DType dtype = GetParam();
  const std::vector<Bits> values = corners(dtype);
  std::vector<Elements> inputs(3, Elements(dtype, kCount));
  inputs.emplace_back(bool_, kCount);
  std::mt19937_64 random(7);
  for (int64_t i = 0; i < kCount; ++i) {
    inputs[0].set(i, values[static_cast<size_t>(i / 256)]);
    inputs[1].set(i, values[static_cast<size_t>(i % 256)]);
    inputs[2].set(i, values[random() % 256]);
    inputs[3].set(i, random() % 2);
  }
  std::vector<OpCase> cases;
  for (const OpCase& c : test::op_cases(dtype)) {
    // How near fast forms come is CUDA's affair; they compile (emit_test.cpp).
    if (c.exactness != Exactness::fast) cases.push_back(c);
  }
  for (size_t i = 0; i < cases.size(); i += 56) {
    const auto some = std::span(cases).subspan(i, std::min<size_t>(56, cases.size() - i));
    ir::Program program = test::op_program(dtype, some, kCount);
    program.options.push_back({"no_contract", "on"});
    const std::vector<Elements> outputs = run(program, inputs);
    for (size_t k = 0; k < some.size(); ++k) expect_op(dtype, some[k], inputs, outputs[k]);
  }
}
INSTANTIATE_TEST_SUITE_P(Types, OpsOnDevice, testing::ValuesIn(test::op_types()),
                         [](const auto& info) { return to_text(info.param); });

class CastsOnDevice : public OpsOnDevice {};

/// All values of a type, or those around which conversions round, kCount of them.
Elements sources(DType dtype) {
  Elements x(dtype, kCount);
  std::mt19937_64 random(11);
  const int bits = dtype.bits();
  const Bits mask = bits == 64 ? ~Bits{0} : (Bits{1} << bits) - 1;
  for (int64_t i = 0; i < kCount; ++i) {
    if (bits <= 16) {
      x.set(i, dtype.is_bool() ? static_cast<Bits>(i % 2) : static_cast<Bits>(i) & mask);
    } else if (dtype.is_int()) {
      const Bits few = random() % 2048 << random() % static_cast<Bits>(bits);
      x.set(i, (i % 2 == 0 ? few + random() % 3 - 1 : random() >> random() % 64) & mask);
    } else {
      // A random exponent, few bits of mantissa, and beside that.
      const int mantissa = dtype == f64 ? 52 : 23;
      const Bits top = random() << mantissa & mask;
      const Bits few = random() >> 40 << random() % static_cast<Bits>(mantissa);
      const Bits near_one = encode(std::ldexp(static_cast<double>(random() >> 11), -40), dtype);
      const Bits some = i % 4 == 0 ? near_one : top | (few & ((Bits{1} << mantissa) - 1));
      x.set(i, (some + random() % 3 - 1) & mask);
    }
  }
  return x;
}

TEST_P(CastsOnDevice, ConversionsAgreeWithTheOracle) {
  const DType from = GetParam();
  const Elements x = sources(from);
  Elements words(u32, kCount);
  std::mt19937 random(13);
  for (int64_t i = 0; i < kCount; ++i) words.set(i, random());
  const std::vector<CastCase> cases = test::cast_cases(from);
  const std::vector<Elements> outputs = run(test::cast_program(from, cases, kCount), {x, words});
  for (size_t k = 0; k < cases.size(); ++k) {
    const CastCase& c = cases[k];
    Failures failures(format("{} of {}", c.name(), from));
    for (int64_t i = 0; i < kCount; ++i) {
      const Bits wanted =
          convert_bits(x[i], from, c.to, c.rounding, c.saturate, static_cast<uint32_t>(words[i]));
      if (!same_value(outputs[k][i], wanted, c.to)) {
        failures.add(" {:#x} is {:#x}, must be {:#x}", x[i], outputs[k][i], wanted);
      }
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Types, CastsOnDevice, testing::ValuesIn(all_dtypes()),
                         [](const auto& info) { return to_text(info.param); });

}  // namespace
}  // namespace tw::cuda
