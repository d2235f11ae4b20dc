// Runs programs in the text form on tensors given as plain numbers.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/base/convert.h"
#include "tilewright/ir/text.h"
#include "tilewright/sim/interpreter.h"
#include "tilewright/sim/twin/twin.h"

namespace tw::sim {

class TextRun {
 public:
  /// `body` is what stands in `program "p" { ... }`, from its first line on, which
  /// is line 1 of p.tw.
  explicit TextRun(std::string_view body)
      : program_(ir::parse_program("tilewright ir 1 program \"p\" {" + std::string(body) + "}",
                                   {.file = "p.tw", .locate = true})) {}

  /// The tensor of a parameter and the elements of its memory in order; zeros where none are given.
  TextRun& tensor(const std::string& name, std::vector<int64_t> shape,
                  std::vector<double> values = {}, std::vector<int64_t> strides = {}) {
    const DType dtype = param(name).buffer.dtype();
    int64_t elements = 1;
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      elements =
          strides.empty() ? elements * shape[dim] : elements + (shape[dim] - 1) * strides[dim];
    }
    values.resize(static_cast<size_t>(elements));
    std::vector<std::byte>& bytes = memory_[name];
    bytes.assign(static_cast<size_t>(elements * dtype.bits() / 8 + 1), std::byte{0});
    for (size_t i = 0; i < values.size(); ++i) put(bytes, dtype, i, encode(values[i], dtype));
    arguments_[name] = Argument::tensor(bytes.data(), dtype, std::move(shape), std::move(strides));
    return *this;
  }
  TextRun& scalar(const std::string& name, double value) {
    const DType dtype = param(name).var.dtype();
    arguments_[name] = Argument::value(dtype, encode(value, dtype));
    return *this;
  }

  const ir::Program& program() const { return program_; }
  std::vector<Argument> arguments() const {
    std::vector<Argument> arguments;
    for (const ir::Param& p : program_.params) arguments.push_back(arguments_.at(name_of(p)));
    return arguments;
  }
  RunResult run(const RunOptions& options = {}) {
    return interpret(program_, arguments(), options);
  }
  /// The same as thread IR.
  TwinResult run_twin(const TwinOptions& options = {}) {
    return sim::run_twin(program_, arguments(), options);
  }
  /// Runs it and gives the findings as text.
  std::string findings(const RunOptions& options = {}) { return to_text(run(options).findings); }
  /// Runs it, which must go without findings, and gives the elements of a tensor.
  std::vector<double> elements(const std::string& name, const RunOptions& options = {}) {
    const std::string found = findings(options);
    TW_CHECK(found.empty(), "{}", found);
    return memory(name);
  }
  /// The elements of a tensor as they are now, in the order of memory.
  std::vector<double> memory(const std::string& name) const {
    const std::vector<std::byte>& bytes = memory_.at(name);
    const DType dtype = param(name).buffer.dtype();
    std::vector<double> values;
    for (size_t i = 0; i < (bytes.size() - 1) * 8 / static_cast<size_t>(dtype.bits()); ++i) {
      values.push_back(decode(get(bytes, dtype, i), dtype));
    }
    return values;
  }
  const void* address(const std::string& name) const { return memory_.at(name).data(); }

 private:
  static const std::string& name_of(const ir::Param& p) {
    return p.buffer ? p.buffer.name() : p.var.name();
  }
  const ir::Param& param(const std::string& name) const {
    for (const ir::Param& p : program_.params) {
      if (name_of(p) == name) return p;
    }
    throw Error({}, {}, "no parameter {}", name);
  }
  static void put(std::vector<std::byte>& bytes, DType dtype, size_t i, uint64_t bits) {
    const auto width = static_cast<size_t>(dtype.bits());
    if (width == 4) {
      bytes[i / 2] |= static_cast<std::byte>(bits << (i % 2 * 4));
    } else {
      for (size_t k = 0; k < width / 8; ++k) {
        bytes[i * width / 8 + k] = static_cast<std::byte>(bits >> (8 * k));
      }
    }
  }
  static uint64_t get(const std::vector<std::byte>& bytes, DType dtype, size_t i) {
    const auto width = static_cast<size_t>(dtype.bits());
    if (width == 4) return (static_cast<uint64_t>(bytes[i / 2]) >> (i % 2 * 4)) & 15;
    uint64_t bits = 0;
    for (size_t k = 0; k < width / 8; ++k) {
      bits |= static_cast<uint64_t>(bytes[i * width / 8 + k]) << (8 * k);
    }
    return bits;
  }

  ir::Program program_;
  std::map<std::string, std::vector<std::byte>> memory_;
  std::map<std::string, Argument> arguments_;
};

}  // namespace tw::sim
