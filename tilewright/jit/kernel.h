// A compiled kernel: what one calls, inspects and exports.
#pragma once

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/backend/backend.h"
#include "tilewright/jit/bench.h"
#include "tilewright/runtime/call.h"

namespace tw {

/// A handle; copies share the kernel. All functions can be called from several threads.
class Kernel {
 public:
  struct Content;

  Kernel() = default;
  explicit Kernel(std::shared_ptr<const Content> content) : content_(std::move(content)) {}
  explicit operator bool() const { return content_ != nullptr; }

  /// Runs the kernel on arguments in the order of its parameters. Outputs may be left out
  /// (all, or each by a null argument): then they are allocated and returned, and own their
  /// memory. See runtime/call.h for the checks, and for allocators.
  std::vector<OwnedTensor> operator()(std::span<const Arg> args,
                                      const runtime::CallContext& context = {}) const;
  std::vector<OwnedTensor> operator()(std::initializer_list<Arg> args,
                                      const runtime::CallContext& context = {}) const {
    return (*this)(std::span(args.begin(), args.size()), context);
  }
  /// Runs it with all outputs given. What `in_place` allows: see CallContext.
  void launch(Stream stream, std::initializer_list<Arg> args, bool in_place = false) const;

  /// How long a call with these arguments takes, and beside it a copy of as many bytes (bench.h).
  /// It is called often: what it adds to is added to as often. Outputs that are left out are
  /// allocated once. Without a device for the kernel's target E-TGT-04.
  CallTime bench(std::span<const Arg> args, const CallTimeOptions& options = {},
                 const runtime::CallContext& context = {}) const;
  CallTime bench(std::initializer_list<Arg> args, const CallTimeOptions& options = {},
                 const runtime::CallContext& context = {}) const {
    return bench(std::span(args.begin(), args.size()), options, context);
  }

  const std::string& name() const;
  const runtime::KernelMetadata& metadata() const;
  /// Signature, launches with grids and variants, what it took to compile; and, of a kernel for a
  /// GPU, by the author's lines which instructions the operations got and why no better ones,
  /// barriers with their reasons, and for each launch registers, spills, occupancy and shared
  /// memory. May take as long as compiling.
  std::string explain() const;
  /// A text made while compiling with `keep_texts`: the IR after a pass, "llvm", "asm", "cuda",
  /// "ptx", "layouts". An unknown name is an Error that lists the known ones. "sass" is made when
  /// it is asked for, by a tool of the toolkit (E-TOOL-01).
  std::string text(std::string_view name) const;
  /// Steps of the compilation with their times; empty when it came from a cache.
  const std::vector<backend::CompileReport::Step>& steps() const;
  /// Warnings of the static checks (language 27.5); empty when it came from a cache.
  const Diagnostics& diagnostics() const;
  /// Where it came from: "compiled", "memory" or "disk".
  const char* origin() const;

  /// The kernel with another source, for experiments: what an author made of text("cuda"). Entries
  /// and parameters stay as they are. No cache keeps it.
  Kernel replace_source(const std::string& source) const;

  /// Writes an artefact that runs without any compiler library; `load` reads it.
  void export_object(const std::string& path) const;
  static Kernel load(const std::string& path);

 private:
  std::shared_ptr<const Content> content_;
};

/// What the copies of a kernel share.
struct Kernel::Content {
  std::unique_ptr<const runtime::LoadedKernel> loaded;
  const char* origin = "compiled";
  // Of a kernel that a backend made; an artefact has neither.
  const backend::Backend* backend = nullptr;
  backend::Artifact artifact;
  ir::Program program;
  bool is_edited = false;  // by Kernel::replace_source
  backend::CompileReport report;
};

}  // namespace tw
