// Every conversion on every target, as vectors and one by one, against base/convert.h: all bits of
// types of up to 16 bits, and edge cases and random ones of the wider types.
#include "tilewright/base/convert.h"

#include <cmath>
#include <cstring>
#include <random>

#include <gtest/gtest.h>

#include "tests/backend/cpu/run.h"

namespace tw::cpu::test {
namespace {

/// How many inputs a type is tested with.
int64_t count_of(DType from) { return from.bits() == 16 ? 65536 : from.bits() > 16 ? 16384 : 256; }

struct Case {
  DType to;
  Rounding rounding;
  bool saturate;
};

std::vector<Case> cases_of(DType from) {
  std::vector<Case> cases;
  for (const DType to : all_dtypes()) {
    for (const Rounding rounding : kRoundings) {
      for (const bool saturate : {true, false}) {
        const bool random = rounding == Rounding::rs;
        if (from == to || cast_error(from, to, rounding, saturate, random) != Code{}) continue;
        cases.push_back({to, rounding, saturate});
      }
    }
  }
  return cases;
}

/// Bits of the type: all of them, or those next to powers of two, and random ones.
std::vector<uint64_t> inputs_of(DType from) {
  std::mt19937_64 random(7);
  std::vector<uint64_t> inputs;
  const int bits = from.bits();
  if (bits > 16) {
    for (int e = 0; e < bits; ++e) {
      for (int64_t d = -2; d <= 2; ++d)
        inputs.push_back((uint64_t{1} << e) + static_cast<uint64_t>(d));
    }
    if (from.is_float()) {
      // Values in and around the range of the narrow types, with few bits and with many.
      for (int e = -160; e < 140; ++e) {
        for (int k = 0; k < 32; ++k) {
          const uint64_t mantissa = random() >> (k % 4 * 16) << 11;
          const double x = std::ldexp(1.0 + std::ldexp(static_cast<double>(mantissa), -64), e);
          inputs.push_back(encode(k % 2 == 0 ? x : -x, from));
        }
      }
    }
  }
  while (inputs.size() < static_cast<size_t>(count_of(from))) {
    inputs.push_back(bits > 16 ? random() >> (random() % 2 * static_cast<uint64_t>(random() % 64))
                               : inputs.size());
  }
  inputs.resize(static_cast<size_t>(count_of(from)));
  for (uint64_t& i : inputs) i &= ~uint64_t{0} >> (64 - bits);
  if (from.is_bool()) {
    inputs.resize(static_cast<size_t>(count_of(from)));
    for (uint64_t& i : inputs) i &= 1;
  }
  return inputs;
}

uint64_t element(const Tensor& tensor, int64_t i) {
  const auto* bytes = tensor.data_as<uint8_t>();
  if (tensor.dtype().is_sub_byte()) return bytes[i / 2] >> (i % 2 * 4) & 15;
  uint64_t bits = 0;
  const auto width = static_cast<size_t>(tensor.dtype().bits() / 8);
  std::memcpy(&bits, bytes + static_cast<size_t>(i) * width, width);
  return bits;
}
void set_element(const Tensor& tensor, int64_t i, uint64_t bits) {
  auto* bytes = tensor.data_as<uint8_t>();
  if (tensor.dtype().is_sub_byte()) {
    uint8_t& byte = bytes[i / 2];
    byte = static_cast<uint8_t>(i % 2 == 0 ? (byte & 0xF0) | bits : (byte & 0x0F) | bits << 4);
    return;
  }
  std::memcpy(bytes + i * tensor.dtype().bits() / 8, &bits,
              static_cast<size_t>(tensor.dtype().bits() / 8));
}

void expect_conversions(DType from, int64_t width) {
  const int64_t count = count_of(from);
  const std::vector<Case> cases = cases_of(from);
  ProgramBuilder p;
  const ir::Buffer x = p.tensor("x", from, {count}), word = p.tensor("word", u32, {count});
  std::vector<ir::Buffer> results;
  for (size_t c = 0; c < cases.size(); ++c) {
    results.push_back(p.tensor(format("y{}", c), cases[c].to, {count}));
  }
  const auto all = [&](const ir::Expr& i) {
    std::vector<ir::Stmt> stmts;
    for (size_t c = 0; c < cases.size(); ++c) {
      stmts.push_back(put(results[c], {i}, ir::make<ir::Cast>({}, [&](ir::Cast& n) {
                            n.dtype = cases[c].to;
                            n.value = at(x, {i});
                            n.rounding = cases[c].rounding;
                            n.saturate = cases[c].saturate;
                            if (n.rounding == Rounding::rs) n.rbits = at(word, {i});
                          })));
    }
    return ir::seq(std::move(stmts));
  };
  const ir::Program program = p.build(serial(count / width, [&](const ir::Var& piece) {
    return lanes(
        width, [&](const ir::Var& l) { return all(ir::add(ir::mul(piece, ir::index(width)), l)); });
  }));

  const std::vector<uint64_t> inputs = inputs_of(from);
  for (const Target& target : targets_here()) {
    const std::vector<OwnedTensor> tensors = random_tensors(program, 3);
    for (int64_t i = 0; i < count; ++i) {
      set_element(tensors[0], i, inputs[static_cast<size_t>(i)]);
    }
    run(program, target, tensors);
    for (size_t c = 0; c < cases.size(); ++c) {
      int64_t wrong = 0;
      for (int64_t i = 0; i < count; ++i) {
        const uint64_t in = inputs[static_cast<size_t>(i)];
        const uint64_t got = element(tensors[2 + c], i);
        const uint64_t want =
            convert_bits(in, from, cases[c].to, cases[c].rounding, cases[c].saturate,
                         static_cast<uint32_t>(element(tensors[1], i)) & 0xFFFF);
        if (same_value(got, want, cases[c].to) || ++wrong > 2) continue;
        ADD_FAILURE() << format("{} lanes on {}: {} {:#x} ({}) to {} {}{} gives {:#x}, not {:#x}",
                                width, target.name(), from, in, decode(in, from), cases[c].to,
                                cases[c].rounding, cases[c].saturate ? "" : " unsaturated", got,
                                want);
      }
      EXPECT_EQ(wrong, 0) << to_text(from) << " to " << to_text(cases[c].to);
    }
  }
}

class Convert : public testing::TestWithParam<DType> {};

TEST_P(Convert, VectorsAgreeWithTheDefinition) { expect_conversions(GetParam(), 32); }
TEST_P(Convert, ScalarsAgreeWithTheDefinition) { expect_conversions(GetParam(), 1); }

INSTANTIATE_TEST_SUITE_P(All, Convert, testing::ValuesIn(all_dtypes()),
                         [](const auto& info) { return to_text(info.param); });

}  // namespace
}  // namespace tw::cpu::test
