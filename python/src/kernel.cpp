// tilewright/jit: programs in text form, compiled and called.
#include <map>

#include <nanobind/stl/map.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "tilewright/base/codes.h"
#include "tilewright/base/error.h"
#include "tilewright/ir/text.h"
#include "tilewright/jit/compile.h"

namespace tw::python {
namespace {

using runtime::Param;
using runtime::ParamKind;

/// Outputs become arrays of the caller's kind. Workspaces are the thread's own on the CPU, and on a
/// GPU the framework's, which gives their memory to work behind this on its current stream.
class CallAllocator : public Allocator {
 public:
  /// `stream`: the caller's own, which need not be the framework's.
  CallAllocator(Call& call, const std::string& kernel, std::optional<Stream> stream)
      : call_(call), kernel_(kernel), stream_(stream) {}

  Tensor output(int, DType dtype, const Shape& shape, Device) override {
    const nb::gil_scoped_acquire held;
    require_current("outputs");
    return call_.new_output(dtype, shape);
  }
  void* workspace(int64_t bytes, Device device, Stream) override {
    if (device.kind == DeviceKind::cpu) return host_workspaces().take(bytes);
    const nb::gil_scoped_acquire held;
    require_current("workspaces");
    return call_.workspace(bytes);
  }
  void release(void* workspace, Device device, Stream) override {
    if (device.kind != DeviceKind::cpu) return;  // with the call
    host_workspaces().release(workspace);
  }

 private:
  void require_current(const char* what) const {
    if (!stream_ || stream_->handle == call_.stream().handle) return;
    throw Error({}, {}, "{}: its {} can't be allocated for another stream than the current one",
                kernel_, what)
        .help("make the stream current instead of passing it");
  }

  Call& call_;
  const std::string& kernel_;
  std::optional<Stream> stream_;
};

/// The handle of a stream: a number, or an object of torch or cupy that has it.
std::optional<Stream> stream_of(nb::handle stream) {
  if (stream.is_none()) return {};
  nb::object handle = nb::borrow(stream);
  for (const char* name : {"cuda_stream", "ptr"}) {
    if (nb::hasattr(stream, name)) handle = stream.attr(name);
  }
  if (!PyLong_Check(handle.ptr())) {
    throw nb::type_error("stream must be a stream of torch or cupy, or its address as a number");
  }
  return Stream{PyLong_AsVoidPtr(handle.ptr())};
}

/// A number for a scalar, an address for a pointer.
Arg number(const std::string& kernel, const Param& param, nb::handle value) {
  if (param.kind == ParamKind::pointer && PyLong_Check(value.ptr())) {
    return Arg::address(PyLong_AsVoidPtr(value.ptr()));
  }
  if (PyBool_Check(value.ptr())) return nb::cast<bool>(value);
  if (PyIndex_Check(value.ptr())) {
    int overflow = 0;
    const nb::object whole = nb::steal(PyNumber_Index(value.ptr()));
    if (!whole.is_valid()) throw nb::python_error();
    const int64_t small = PyLong_AsLongLongAndOverflow(whole.ptr(), &overflow);
    if (overflow == 0) return small;
    const uint64_t large = PyLong_AsUnsignedLongLong(whole.ptr());
    if (PyErr_Occurred() != nullptr) throw nb::python_error();
    return large;
  }
  const double real = PyFloat_AsDouble(value.ptr());
  if (PyErr_Occurred() == nullptr) return real;
  PyErr_Clear();
  throw Error(codes::host_01, {}, "{}: {} must be a number, it is {}", kernel, param.name,
              nb::repr(value).c_str());
}

/// `scale(X, a) -> Y`.
std::string signature(const Kernel& kernel) {
  std::string inputs, outputs;
  for (const Param& p : kernel.metadata().params) {
    if (p.kind == ParamKind::workspace) continue;
    std::string& names = p.kind == ParamKind::output ? outputs : inputs;
    names += (names.empty() ? "" : ", ") + p.name;
  }
  return format("{}({}) -> {}", kernel.name(), inputs, outputs.empty() ? "None" : outputs);
}

/// Takes the arguments of a call, those that the caller gives in order and then `out`, and runs
/// `use(args, context)` without the GIL.
template <class Use>
void with_arguments(Call& call, const Kernel& kernel, const nb::args& given, nb::handle out,
                    nb::handle stream, const Use& use) {
  const std::string& name = kernel.name();
  const std::vector<Param>& params = kernel.metadata().params;
  size_t inputs = 0, outputs = 0;
  for (const Param& p : params) {
    (p.kind == ParamKind::output ? outputs : inputs) += p.kind != ParamKind::workspace;
  }
  // 1. Outputs are all given in their places, all given as `out`, or all left out.
  std::vector<nb::object> outs;
  if (!out.is_none()) {
    if (nb::isinstance<nb::tuple>(out) || nb::isinstance<nb::list>(out)) {
      for (const nb::handle each : out) outs.push_back(nb::borrow(each));
    } else {
      outs.push_back(nb::borrow(out));
    }
  }
  const bool in_place = outs.empty() && outputs > 0 && given.size() == inputs + outputs;
  if (!in_place && (given.size() != inputs || (!outs.empty() && outs.size() != outputs))) {
    throw Error(codes::host_01, {},
                "{}: expected {} arguments and {} outputs, got {} and {} as out", name, inputs,
                outputs, given.size(), outs.size())
        .note("it is {}", signature(kernel));
  }
  // 2. Each becomes an Arg. Those refer to the tensors, so these must not move.
  std::vector<Tensor> tensors;
  std::vector<Arg> args;
  tensors.reserve(params.size());
  size_t next = 0, next_out = 0;
  for (const Param& p : params) {
    if (p.kind == ParamKind::workspace) continue;
    const bool is_output = p.kind == ParamKind::output;
    if (is_output && !in_place && outs.empty()) {
      args.emplace_back(nullptr);
      continue;
    }
    const nb::object value = is_output && !in_place ? outs[next_out++] : nb::object(given[next++]);
    if (!p.is_tensor()) {
      args.push_back(number(name, p, value));
    } else if (value.is_none()) {
      args.emplace_back(nullptr);
    } else if (p.kind == ParamKind::input) {
      args.emplace_back(tensors.emplace_back(call.input(p.name.c_str(), {value}, p.dtype)));
    } else {
      args.emplace_back(tensors.emplace_back(
          call.output(p.name.c_str(), Array{value}, p.dtype, /*returned=*/is_output)));
    }
  }
  const std::optional<Stream> own = stream_of(stream);
  CallAllocator allocator(call, name, own);
  runtime::CallContext context;
  context.allocator = &allocator;
  call.run([&](Stream current) {
    context.stream = own.value_or(current);
    use(std::span<const Arg>(args), context);
  });
}

nb::any call_kernel(const Kernel& kernel, const nb::args& given, nb::handle out,
                    nb::handle stream) {
  Call call(kernel.name().c_str());
  with_arguments(call, kernel, given, out, stream,
                 [&](std::span<const Arg> args, const auto& context) { kernel(args, context); });
  return call.result();
}

CallTime bench_kernel(const Kernel& kernel, const nb::args& given, nb::handle out,
                      nb::handle stream, std::optional<int64_t> bytes, int rounds) {
  Call call(kernel.name().c_str());
  CallTime time;
  with_arguments(call, kernel, given, out, stream,
                 [&](std::span<const Arg> args, const auto& context) {
                   time = kernel.bench(args, {bytes.value_or(-1), rounds}, context);
                 });
  return time;
}

Kernel compile_text(const std::string& text, const std::string& target,
                    const std::map<std::string, std::string>& options, bool cache, bool keep_texts,
                    bool verbose, const std::string& file) {
  const nb::gil_scoped_release released;
  CompileOptions compile_options{
      .target = target, .cache = cache, .keep_texts = keep_texts, .verbose = verbose};
  for (const auto& [name, value] : options) compile_options.options.push_back({name, value});
  return compile(ir::parse_program(text, {.file = file, .locate = true}), compile_options);
}

}  // namespace

void bind_kernel(nb::module_& m) {
  nb::class_<Kernel>(m, "Kernel", "A compiled kernel; can be called from several threads at once.")
      .def("__call__", &call_kernel, "args"_a, "out"_a = nb::none(), "stream"_a = nb::none(),
           "Runs it on arrays and numbers in the order of its parameters. Outputs may follow in\n"
           "their places or be given as out (one, or a sequence); else they are allocated.\n"
           "Returns the outputs: None, one, or a tuple. Arrays of unsigned integers may stand for\n"
           "formats of the same width that numpy lacks. On a GPU it runs on the current stream of\n"
           "the arrays' framework, or on stream: one of torch or cupy, or its address.")
      .def("bench", &bench_kernel, "args"_a, "out"_a = nb::none(), "stream"_a = nb::none(),
           "bytes"_a = nb::none(), "rounds"_a = 0,
           "How long a call with these arguments keeps the device busy, as a CallTime: beside a\n"
           "copy of as many bytes, which are those of the arguments unless bytes says else. It\n"
           "calls the kernel often; on a GPU each time with a cold L2 cache.")
      .def_prop_ro("name", &Kernel::name)
      .def_prop_ro("origin", &Kernel::origin, "'compiled', 'memory' or 'disk'.")
      .def_prop_ro(
          "warnings", [](const Kernel& k) { return to_text(k.diagnostics()); },
          "What the static checks found, a line each; empty when it came from a cache.")
      .def("explain", &Kernel::explain, nb::call_guard<nb::gil_scoped_release>(),
           "Signature, launches with grids and variants, what it took to compile; for a GPU also "
           "which instructions each line got and why, barriers, registers, and shared memory.")
      .def(
          "text", [](const Kernel& k, const std::string& name) { return k.text(name); }, "name"_a,
          "A text made while compiling with keep_texts: the IR after a pass, 'llvm', 'asm'; for a\n"
          "GPU 'cuda', 'ptx', 'sass', 'layouts'.")
      .def("replace_source", &Kernel::replace_source, "source"_a,
           nb::call_guard<nb::gil_scoped_release>(),
           "The kernel with another source in the place of text('cuda'), for experiments.")
      .def(
          "export_object",
          [](const Kernel& k, const std::string& path) {
            const nb::gil_scoped_release released;
            k.export_object(path);
          },
          "path"_a, "Writes an artefact that runs without a compiler; load reads it.")
      .def_static(
          "load",
          [](const std::string& path) {
            const nb::gil_scoped_release released;
            return Kernel::load(path);
          },
          "path"_a, "A kernel that export_object wrote.")
      .def("__repr__", [](const Kernel& k) { return "<tilewright.Kernel " + k.name() + ">"; });
  m.def("compile_text", &compile_text, "text"_a, nb::kw_only(), "target"_a = "auto",
        "options"_a = std::map<std::string, std::string>(), "cache"_a = true,
        "keep_texts"_a = false, "verbose"_a = false, "file"_a = "text",
        "Compiles a program in text form, or finds it in a cache. file stands in messages.\n"
        "With verbose, warnings has ignored hints and suspected accesses outside, too.");
}

}  // namespace tw::python
