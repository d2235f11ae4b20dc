#include "torch_memory.h"

#include <algorithm>
#include <array>

#include <dlfcn.h>

#include "exchange.h"
#include "tilewright/base/format.h"

namespace tw::python {
namespace {

/// c10::ArrayRef<int64_t>, c10::Device and at::TensorBase, as functions take and return them.
struct Extents {
  const int64_t* data;
  size_t size;
};
struct TorchDevice {
  int8_t kind, index;
};
struct TensorBase {
  TensorBase(const TensorBase&) = delete;
  TensorBase& operator=(const TensorBase&) = delete;
  ~TensorBase() {}  // not trivial, like torch's: it is returned in memory
  void* tensor;
};

/// Of torch/csrc/inductor/aoti_torch/c/shim.h, whose functions keep their meaning from release to
/// release and return 0 or fail; and of torch/csrc/autograd/python_variable.h. A tensor is an
/// at::Tensor* here.
struct Api {
  int32_t (*empty_strided)(int64_t rank, const int64_t* sizes, const int64_t* strides,
                           int32_t dtype, int32_t device_type, int32_t device, void** made);
  int32_t (*reinterpret)(void* tensor, int64_t rank, const int64_t* sizes, const int64_t* strides,
                         int64_t offset, void** made);
  int32_t (*data)(void* tensor, void** address);
  int32_t (*destroy)(void* tensor);
  PyObject* (*wrap)(const void* tensor);  // THPVariable_Wrap(const at::TensorBase&)
  /// at::detail::empty_strided_cuda: on a GPU the same without torch's dispatcher. Null where torch
  /// has none of these types; the symbol has them in its name.
  TensorBase (*empty_cuda)(Extents sizes, Extents strides, int8_t dtype,
                           std::optional<TorchDevice> device);
  int32_t cpu, cuda;
  std::array<int32_t, kScalarCount> dtypes;  // -1: none
};

template <class F>
bool find(void* library, const std::string& name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name.c_str()));
  return function != nullptr;
}

/// The number that a function without arguments gives, -1 without that function.
int32_t number(void* library, const std::string& name) {
  int32_t (*function)() = nullptr;
  return find(library, name, function) ? function() : -1;
}

std::optional<Api> load() {
  void* core = dlopen("libtorch_cpu.so", RTLD_NOW | RTLD_NOLOAD);
  void* python = dlopen("libtorch_python.so", RTLD_NOW | RTLD_NOLOAD);
  if (core == nullptr || python == nullptr) return {};
  Api api{};
  const std::string of = "aoti_torch_";
  api.cpu = number(core, of + "device_type_cpu");
  api.cuda = number(core, of + "device_type_cuda");
  api.dtypes.fill(-1);
  for (const auto& [scalar, name] : kTorchNames) {
    api.dtypes[static_cast<size_t>(scalar)] = number(core, of + "dtype_" + name);
  }
  const bool complete = find(core, of + "empty_strided", api.empty_strided) &&
                        find(core, of + "_reinterpret_tensor", api.reinterpret) &&
                        find(core, of + "get_data_ptr", api.data) &&
                        find(core, of + "delete_tensor_object", api.destroy) &&
                        find(python, "_Z16THPVariable_WrapRKN2at10TensorBaseE", api.wrap) &&
                        api.cpu >= 0 && api.cuda >= 0;
  void* cuda = dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_NOLOAD);
  if (cuda != nullptr) {
    find(cuda,
         "_ZN2at6detail18empty_strided_cudaEN3c108ArrayRefIlEES3_NS1_10ScalarTypeE"
         "St8optionalINS1_6DeviceEE",
         api.empty_cuda);
  }
  return complete ? std::optional(api) : std::nullopt;
}

class Handle {
 public:
  explicit Handle(const Api& api) : api_(api) {}
  ~Handle() {
    if (tensor != nullptr) api_.destroy(tensor);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  void* tensor = nullptr;  // of operator new, which torch deletes

 private:
  const Api& api_;
};

struct Wanted {
  const Shape &shape, &strides;
  int32_t dtype, kind, device;
};

bool make(const Api& api, const Wanted& w, Handle& handle) {
  const auto rank = static_cast<size_t>(w.shape.rank());
  if (w.kind != api.cuda || api.empty_cuda == nullptr) {
    return api.empty_strided(w.shape.rank(), w.shape.begin(), w.strides.begin(), w.dtype, w.kind,
                             w.device, &handle.tensor) == 0;
  }
  try {
    const TorchDevice device{static_cast<int8_t>(w.kind), static_cast<int8_t>(w.device)};
    handle.tensor = new TensorBase(api.empty_cuda(
        {w.shape.begin(), rank}, {w.strides.begin(), rank}, static_cast<int8_t>(w.dtype), device));
    return true;
  } catch (...) {  // c10::Error
    return false;
  }
}

}  // namespace

std::optional<TorchMemory> torch_memory(DType dtype, const Shape& shape, Device device,
                                        std::optional<int64_t> columns) {
  if (device.kind != DeviceKind::cpu && device.kind != DeviceKind::cuda) return {};
  static const std::optional<Api> api = load();
  if (!api || dtype.is_sub_byte()) return {};
  const int32_t number = api->dtypes[static_cast<size_t>(dtype.scalar)];
  if (number < 0) return {};
  const int32_t kind = device.kind == DeviceKind::cpu ? api->cpu : api->cuda;
  const int32_t index = device.kind == DeviceKind::cpu ? 0 : device.id;
  Shape strides = shape;
  int64_t step = 1;
  for (int i = shape.rank() - 1; i >= 0; --i) {  // torch counts a size of 0 as 1
    strides[i] = step;
    step *= std::max<int64_t>(shape[i], 1);
  }
  Handle whole(*api), part(*api);
  if (!make(*api, {shape, strides, number, kind, index}, whole)) return {};
  void* result = whole.tensor;
  if (columns) {
    const int64_t sizes[] = {*columns, shape[0]}, steps[] = {1, shape[1]};
    if (api->reinterpret(whole.tensor, 2, sizes, steps, 0, &part.tensor) != 0) return {};
    result = part.tensor;
  }
  TorchMemory made{nb::steal(api->wrap(result)), nullptr};
  if (!made.object.is_valid()) throw nb::python_error();
  if (api->data(result, &made.data) != 0) return {};
  return made;
}

}  // namespace tw::python
