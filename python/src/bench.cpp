// tilewright/jit/bench.h: times of functions on the caller's arrays.
#include "tilewright/jit/bench.h"

#include <set>
#include <vector>

#include "bind.h"

namespace tw::python {
namespace {

/// The arrays among the arguments of a call and what it returned.
class Arrays {
 public:
  void add(nb::handle object) {
    if (nb::isinstance<nb::tuple>(object) || nb::isinstance<nb::list>(object)) {
      for (const nb::handle each : object) add(each);
    } else if (nb::hasattr(object, "__dlpack_device__") && seen_.insert(object.ptr()).second) {
      const Borrowed taken(object);
      if (!framework_) {
        device_ = taken.tensor().device();
        framework_.emplace(object, device_);
      }
      bytes_ += taken.tensor().bytes();
    }
  }

  /// Of those that differ.
  int64_t bytes() const { return bytes_; }
  /// Of the first.
  Device device() const { return device_; }
  Stream stream() const { return framework_ ? framework_->current_stream() : Stream{}; }

 private:
  std::set<PyObject*> seen_;
  std::optional<Framework> framework_;
  Device device_;
  int64_t bytes_ = 0;
};

CallTime bench_function(const nb::callable& function, const nb::args& args,
                        std::optional<int64_t> bytes, int rounds, const nb::kwargs& kwargs) {
  Arrays arrays;
  const nb::object result = function(*args, **kwargs);
  try {
    for (const nb::handle each : args) arrays.add(each);
    for (const auto& [name, value] : kwargs) arrays.add(value);
    arrays.add(result);
  } catch (const Unusable& unusable) {
    PyErr_SetString(unusable.kind, ("bench: an array " + unusable.reason).c_str());
    throw nb::python_error();
  }
  const CallTimeOptions options{bytes.value_or(arrays.bytes()), rounds};
  const Device device = arrays.device();
  const Stream stream = arrays.stream();
  const nb::gil_scoped_release released;
  const auto run = [&](Stream) {
    const nb::gil_scoped_acquire held;
    function(*args, **kwargs);
  };
  return bench(run, device, options, stream);
}

}  // namespace

void bind_bench(nb::module_& m) {
  nb::class_<CallTime>(m, "CallTime", "How long a call takes, beside a copy of as many bytes.")
      .def_ro("time_us", &CallTime::time_us, "Median over the rounds.")
      .def_ro("spread_us", &CallTime::spread_us,
              "The middle half of the rounds lies within so much.")
      .def_ro("bytes", &CallTime::bytes, "That a call must move.")
      .def_ro("ceiling_us", &CallTime::ceiling_us,
              "Of a copy that reads half of the bytes and writes the others.")
      .def_ro("share", &CallTime::share, "ceiling_us / time_us; 0 where no bytes are moved.")
      .def("__repr__", [](const CallTime& time) { return to_text(time); });
  m.def(
      "bench", &bench_function, "function"_a, "args"_a, nb::kw_only(), "bytes"_a = nb::none(),
      "rounds"_a = 0, "kwargs"_a,
      "How long function(*args, **kwargs) keeps the device busy, as a CallTime. bytes are those\n"
      "of the arrays among arguments and results, each once, unless they are given. Calls it\n"
      "often: on the CPU timed by wall clock, on the GPU of the first array with a cold L2 cache,\n"
      "on its framework's current stream, where the function must not wait for the device.");
}

}  // namespace tw::python
