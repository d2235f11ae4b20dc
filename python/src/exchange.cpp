#include "exchange.h"

#include <array>
#include <string>

#include "tilewright/base/codes.h"
#include "tilewright/base/error.h"

namespace tw::python {
namespace {

using dlpack::DLPackExchangeAPI;

/// The newest table of our major version in the chain of a capsule; null when there is none.
const DLPackExchangeAPI* table_in(nb::handle capsule) {
  auto* header = static_cast<dlpack::DLPackExchangeAPIHeader*>(
      PyCapsule_GetPointer(capsule.ptr(), "dlpack_exchange_api"));
  if (header == nullptr) PyErr_Clear();
  while (header != nullptr && header->version.major != dlpack::kVersion.major) {
    header = header->prev_api;
  }
  const auto* api = reinterpret_cast<const DLPackExchangeAPI*>(header);
  const bool usable = api != nullptr && api->dltensor_from_py_object_no_sync != nullptr &&
                      api->managed_tensor_allocator != nullptr &&
                      api->managed_tensor_to_py_object_no_sync != nullptr &&
                      api->current_work_stream != nullptr;
  return usable ? api : nullptr;
}

int32_t device_type(Device device) {
  return device.kind == DeviceKind::cuda ? dlpack::kDLCUDA : dlpack::kDLCPU;
}

}  // namespace

// Types are few: the last ones are remembered, and kept alive for that. Needs the GIL.
const DLPackExchangeAPI* exchange_of(nb::handle array) {
  struct Known {
    PyTypeObject* type = nullptr;
    const DLPackExchangeAPI* api = nullptr;
  };
  static std::array<Known, 4> known;
  static size_t next = 0;
  PyTypeObject* type = Py_TYPE(array.ptr());
  for (const Known& k : known) {
    if (k.type == type) return k.api;
  }
  Known found{.type = type};
  const nb::object capsule = nb::getattr(nb::handle(reinterpret_cast<PyObject*>(type)),
                                         "__dlpack_c_exchange_api__", nb::none());
  if (!capsule.is_none()) found.api = table_in(capsule);
  Py_INCREF(reinterpret_cast<PyObject*>(type));
  Known& place = known[next++ % known.size()];
  if (place.type != nullptr) Py_DECREF(reinterpret_cast<PyObject*>(place.type));
  place = found;
  return found.api;
}

bool requires_grad(nb::handle array) {
  static PyObject* name = PyUnicode_InternFromString("requires_grad");
  const nb::object value = nb::steal(PyObject_GetAttr(array.ptr(), name));
  if (!value.is_valid()) PyErr_Clear();
  return value.is_valid() && value.ptr() == Py_True;
}

std::optional<Tensor> exchange_view(const DLPackExchangeAPI& api, nb::handle array) {
  dlpack::DLTensor tensor{};
  if (api.dltensor_from_py_object_no_sync(array.ptr(), &tensor) == 0) {
    return dlpack::to_tensor(tensor);
  }
  PyErr_Clear();
  return {};
}

nb::object exchange_empty(const DLPackExchangeAPI& api, DType dtype, const Shape& shape,
                          Device device, std::optional<int64_t> columns) {
  Shape extents = shape;
  const DLPackType type = to_dlpack(dtype);
  dlpack::DLTensor prototype{};
  prototype.device = {device_type(device), device.id};
  prototype.ndim = shape.rank();
  prototype.dtype = {type.code, type.bits, 1};
  if (dtype.is_sub_byte()) {  // frameworks count pairs
    prototype.dtype.lanes = 2;
    extents[shape.rank() - 1] = (extents[shape.rank() - 1] + 1) / 2;
  }
  prototype.shape = const_cast<int64_t*>(extents.begin());
  dlpack::DLManagedTensorVersioned* made = nullptr;
  std::string problem = "no memory";
  const auto set_error = [](void* context, const char* kind, const char* message) {
    *static_cast<std::string*>(context) = std::string(kind) + ": " + message;
  };
  if (api.managed_tensor_allocator(&prototype, &made, &problem, set_error) != 0) {
    throw Error(codes::host_12, {}, "no memory for {} {} on {}: {}", dtype, shape, device, problem);
  }
  if (columns) {
    int64_t *const extent = made->dl_tensor.shape, *const stride = made->dl_tensor.strides;
    TW_CHECK(shape.rank() == 2 && stride != nullptr, "{} has no columns", shape);
    extent[0] = *columns;
    extent[1] = shape[0];
    stride[0] = 1;
    stride[1] = shape[1];
  }
  void* object = nullptr;
  if (api.managed_tensor_to_py_object_no_sync(made, &object) != 0) throw nb::python_error();
  return nb::steal(static_cast<PyObject*>(object));
}

Stream exchange_stream(const DLPackExchangeAPI& api, Device device) {
  Stream stream;
  if (api.current_work_stream(device_type(device), device.id, &stream.handle) != 0) {
    throw nb::python_error();
  }
  return stream;
}

// --- torch's attributes ---------------------------------------------------------------------

namespace {

/// torch, imported by whoever made the tensor. Never destroyed.
struct Torch {
  nb::object tensor, empty, current_stream;
  std::array<nb::object, kScalarCount> dtypes;
};

/// Null when no torch has been imported.
const Torch* torch() {
  static const Torch* loaded = nullptr;
  if (loaded != nullptr) return loaded;
  const nb::object module =
      nb::module_::import_("sys").attr("modules").attr("get")("torch", nb::none());
  if (module.is_none() || !nb::hasattr(module, "Tensor")) return nullptr;
  auto* made = new Torch;
  made->tensor = module.attr("Tensor");
  made->empty = module.attr("empty");
  made->current_stream = module.attr("cuda").attr("current_stream");
  for (const auto& [scalar, name] : kTorchNames) {
    made->dtypes[static_cast<size_t>(scalar)] = nb::getattr(module, name, nb::none());
  }
  return loaded = made;
}

Shape shape_of(nb::handle numbers) {
  std::array<int64_t, kMaxRank> extents{};
  size_t rank = 0;
  for (const nb::handle each : numbers) {
    TW_REQUIRE(rank < kMaxRank, "the largest rank is {}", kMaxRank);
    extents[rank++] = nb::cast<int64_t>(each);
  }
  return Shape(std::span<const int64_t>(extents.data(), rank));
}

}  // namespace

bool is_torch(nb::handle array) {
  const Torch* t = torch();
  return t != nullptr && PyObject_IsInstance(array.ptr(), t->tensor.ptr()) == 1;
}

std::optional<Tensor> torch_view(nb::handle array) {
  const Torch* t = torch();
  if (!is_torch(array) || !nb::cast<bool>(array.attr("is_cuda"))) {
    return {};
  }
  const nb::object own = array.attr("dtype");
  for (const DType dtype : all_dtypes()) {
    const nb::object& known = t->dtypes[static_cast<size_t>(dtype.scalar)];
    if (!known.is_valid() || known.is_none() || !known.is(own)) continue;
    Shape shape = shape_of(array.attr("shape")), strides = shape_of(array.attr("stride")());
    if (dtype.is_sub_byte()) {
      const int last = shape.rank() - 1;
      for (int i = 0; i < last; ++i) strides[i] *= 2;
      shape[last] *= 2;
    }
    const auto address = nb::cast<uintptr_t>(array.attr("data_ptr")());
    const auto index = nb::cast<int32_t>(array.attr("device").attr("index"));
    return Tensor(reinterpret_cast<void*>(address), dtype, shape, strides,
                  {DeviceKind::cuda, index});
  }
  return {};
}

nb::object torch_empty(DType dtype, const Shape& shape, Device device) {
  const Torch* t = torch();
  nb::list extents;
  for (const int64_t extent : shape) extents.append(extent);
  if (dtype.is_sub_byte()) extents[shape.rank() - 1] = (shape[shape.rank() - 1] + 1) / 2;
  return t->empty(extents, nb::arg("dtype") = t->dtypes[static_cast<size_t>(dtype.scalar)],
                  nb::arg("device") = to_text(device));
}

Stream torch_stream(Device device) {
  const nb::object stream = torch()->current_stream(device.id).attr("cuda_stream");
  return {PyLong_AsVoidPtr(stream.ptr())};
}

}  // namespace tw::python
