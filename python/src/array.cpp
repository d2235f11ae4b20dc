#include "array.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <nanobind/ndarray.h>

#include "exchange.h"
#include "numpy.h"
#include "tilewright/base/error.h"
#include "torch_memory.h"

namespace tw::python {
namespace {

constexpr const char* kVersioned = "dltensor_versioned";

/// The element type of a format of the buffer protocol, in the machine's byte order.
std::optional<DType> dtype_of_format(const char* format, Py_ssize_t size) {
  if (format == nullptr) return u8;
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  if (*format == 0 || format[1] != 0) return {};
  const auto width = [&](DType one, DType two, DType four, DType eight) -> std::optional<DType> {
    if (size == 1) return one;
    if (size == 2) return two;
    if (size == 4) return four;
    return size == 8 ? std::optional(eight) : std::nullopt;
  };
  switch (*format) {
    case '?':
      return bool_;
    case 'e':
      return f16;
    case 'f':
      return f32;
    case 'd':
      return f64;
    default:
      if (std::strchr("bhilq", *format) != nullptr) return width(i8, i16, i32, i64);
      if (std::strchr("BHILQ", *format) != nullptr) return width(u8, u16, u32, u64);
      return {};
  }
}

std::string str(nb::handle object) { return nb::str(object).c_str(); }

std::string class_name(nb::handle object) { return str(object.type().attr("__name__")); }

[[noreturn]] void fail_dtype(nb::handle object) {
  const std::string dtype = nb::hasattr(object, "dtype") ? str(object.attr("dtype")) : "unknown";
  throw Unusable{PyExc_TypeError, "is of dtype " + dtype + ", which tilewright doesn't have"};
}

thread_local bool without_gradients = false;

bool is_refused(nb::handle object) { return !without_gradients && requires_grad(object); }

bool is_numpy(nb::handle object) {
  return object.type().is(numpy().ndarray) ||
         PyObject_IsInstance(object.ptr(), numpy().ndarray.ptr()) == 1;
}

}  // namespace

WithoutGradients::WithoutGradients() : before_(without_gradients) { without_gradients = true; }
WithoutGradients::~WithoutGradients() { without_gradients = before_; }

Borrowed::Borrowed(nb::handle object) {
  // To see that an object isn't numpy's costs ten times the look at its type's table.
  if (exchange_of(object) == nullptr && is_numpy(object)) {
    // Extension dtypes first: to be refused a buffer takes numpy a microsecond.
    if (!from_extension_dtype(object) && !from_buffer(object)) fail_dtype(object);
  } else if (!from_framework(object) && !from_dlpack(object) && !from_buffer(object)) {
    throw Unusable{PyExc_TypeError, "is of type " + class_name(object) +
                                        ", it must be an array of numpy or one with __dlpack__"};
  }
}

Borrowed::Borrowed(Borrowed&& other) noexcept
    : tensor_(other.tensor_),
      read_only_(other.read_only_),
      buffer_(other.buffer_),
      managed_(other.managed_),
      managed_versioned_(other.managed_versioned_) {
  other.buffer_.obj = nullptr;
  other.managed_ = nullptr;
  other.managed_versioned_ = nullptr;
}

Borrowed::~Borrowed() {
  if (buffer_.obj != nullptr) PyBuffer_Release(&buffer_);
  if (managed_ != nullptr && managed_->deleter != nullptr) managed_->deleter(managed_);
  if (managed_versioned_ != nullptr && managed_versioned_->deleter != nullptr) {
    managed_versioned_->deleter(managed_versioned_);
  }
}

bool Borrowed::from_buffer(nb::handle object) {
  if (PyObject_GetBuffer(object.ptr(), &buffer_, PyBUF_RECORDS_RO) != 0) {
    PyErr_Clear();
    buffer_.obj = nullptr;
    return false;
  }
  const std::optional<DType> dtype = dtype_of_format(buffer_.format, buffer_.itemsize);
  if (!dtype) {
    PyBuffer_Release(&buffer_);
    fail_dtype(object);
  }
  if (buffer_.ndim > kMaxRank) {
    PyBuffer_Release(&buffer_);
    throw Unusable{PyExc_ValueError,
                   format("has {} dimensions, the largest rank is {}", buffer_.ndim, kMaxRank)};
  }
  Shape shape = Shape::filled(buffer_.ndim, 0), strides = shape;
  for (int i = 0; i < buffer_.ndim; ++i) {
    shape[i] = buffer_.shape[i];
    strides[i] = buffer_.strides[i] / buffer_.itemsize;
    if (strides[i] * buffer_.itemsize != buffer_.strides[i] && shape[i] > 1) {
      const Py_ssize_t stride = buffer_.strides[i], size = buffer_.itemsize;
      PyBuffer_Release(&buffer_);
      throw Unusable{PyExc_ValueError,
                     format("has a stride of {} bytes, it must be a multiple of the element's {}",
                            stride, size)};
    }
  }
  read_only_ = buffer_.readonly != 0;
  tensor_ = Tensor(buffer_.buf, *dtype, shape, strides);
  return true;
}

bool Borrowed::from_extension_dtype(nb::handle object) {
  const nb::object own = object.attr("dtype");
  for (const DType dtype : all_dtypes()) {
    const auto index = static_cast<size_t>(dtype.scalar);
    if (!numpy().extension[index].is(own)) continue;
    if (!from_buffer(object.attr("view")(numpy().storage[index]))) return false;
    reinterpret(dtype);
    return true;
  }
  return false;
}

// What torch refuses to share is left to its __dlpack__, whose error says why.
bool Borrowed::from_framework(nb::handle object) {
  const dlpack::DLPackExchangeAPI* exchange = exchange_of(object);
  const std::optional<Tensor> view =
      exchange != nullptr ? exchange_view(*exchange, object) : torch_view(object);
  if (!view || is_refused(object)) return false;
  tensor_ = *view;
  return true;
}

namespace {

/// Whether __dlpack__ is to order its work before that of a stream: on a GPU of a framework whose
/// current stream isn't known we launch on the legacy default stream, which DLPack calls 1.
bool wants_stream(nb::handle object) {
  if (!nb::hasattr(object, "__dlpack_device__")) return false;
  const auto kind = nb::cast<int>(nb::object(object.attr("__dlpack_device__")())[0]);
  return kind == dlpack::kDLCUDA || kind == dlpack::kDLCUDAManaged;
}

}  // namespace

bool Borrowed::from_dlpack(nb::handle object) {
  if (!nb::hasattr(object, "__dlpack__")) return false;
  nb::object source = nb::borrow(object);
  if (without_gradients && requires_grad(object)) source = object.attr("detach")();
  const nb::object method = source.attr("__dlpack__");
  nb::object capsule;
  nb::dict keywords;
  if (wants_stream(object)) keywords["stream"] = 1;
  try {
    keywords["max_version"] = nb::make_tuple(dlpack::kVersion.major, dlpack::kVersion.minor);
    capsule = method(**keywords);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_TypeError)) throw;
    nb::del(keywords["max_version"]);  // from before DLPack 1.0
    capsule = method(**keywords);
  }
  if (PyCapsule_IsValid(capsule.ptr(), kVersioned)) {
    auto* managed = static_cast<dlpack::DLManagedTensorVersioned*>(
        PyCapsule_GetPointer(capsule.ptr(), kVersioned));
    if (managed->version.major != dlpack::kVersion.major) {
      throw Unusable{PyExc_ValueError, format("speaks DLPack {}, it must be {}",
                                              managed->version.major, dlpack::kVersion.major)};
    }
    tensor_ = dlpack::to_tensor(managed->dl_tensor, managed->flags);
    read_only_ = (managed->flags & dlpack::kReadOnly) != 0;
    PyCapsule_SetName(capsule.ptr(), "used_dltensor_versioned");
    managed_versioned_ = managed;
    return true;
  }
  auto* managed =
      static_cast<dlpack::DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  if (managed == nullptr) throw nb::python_error();
  tensor_ = dlpack::to_tensor(managed->dl_tensor);
  PyCapsule_SetName(capsule.ptr(), "used_dltensor");
  managed_ = managed;
  return true;
}

void Borrowed::reinterpret(DType dtype) {
  Shape shape = tensor_.shape(), strides = tensor_.strides();
  if (dtype.is_sub_byte()) {
    const int last = tensor_.rank() - 1;
    if (last < 0 || (shape[last] > 1 && strides[last] != 1)) {
      throw Unusable{PyExc_ValueError, "must have its innermost dimension without gaps"};
    }
    for (int i = 0; i < last; ++i) strides[i] *= 2;
    shape[last] *= 2;
    strides[last] = 1;
  }
  tensor_ = Tensor(tensor_.data(), dtype, shape, strides, tensor_.device());
}

Framework::Framework(nb::handle example, Device device) : example_(example), device_(device) {
  exchange_ = exchange_of(example);
  if (exchange_ == nullptr && is_numpy(example)) return;
  is_torch_ = (exchange_ != nullptr || device.kind != DeviceKind::cpu) && python::is_torch(example);
}

// The module that an example belongs to; numpy's arrays and mere buffers have none here.
nb::object Framework::from_dlpack() const {
  if (!example_.is_valid() || is_numpy(example_) || !nb::hasattr(example_, "__dlpack__")) return {};
  nb::object module;
  if (nb::hasattr(example_, "__array_namespace__")) {
    module = example_.attr("__array_namespace__")();
  } else {
    const std::string name = str(example_.type().attr("__module__"));
    module = nb::module_::import_(name.substr(0, name.find('.')).c_str());
  }
  return nb::hasattr(module, "from_dlpack") ? module.attr("from_dlpack") : nb::object();
}

namespace {

/// Larger arrays on the CPU lie in memory of the runtime, which is aligned to lines and reused
/// without asking the system for fresh pages.
constexpr int64_t kLargeBytes = 64 * 1024;

/// An array of the numpy type that stores `dtype`.
nb::object empty_numpy(DType dtype, const Shape& shape) {
  const nb::object& storage = numpy().storage[static_cast<size_t>(dtype.scalar)];
  const int last = shape.rank() - 1;
  const int64_t bytes = storage_bytes(dtype, shape.numel());
  if (bytes < kLargeBytes || dtype.is_sub_byte()) {
    nb::object extents = nb::steal(PyTuple_New(shape.rank()));
    for (int i = 0; i <= last; ++i) {
      const int64_t extent = dtype.is_sub_byte() && i == last ? (shape[i] + 1) / 2 : shape[i];
      PyTuple_SetItem(extents.ptr(), i, PyLong_FromLongLong(extent));
    }
    return numpy().empty(extents, storage);
  }
  auto* owner = new OwnedTensor(dtype, shape);
  const nb::capsule capsule(owner, [](void* p) noexcept { delete static_cast<OwnedTensor*>(p); });
  std::array<size_t, kMaxRank> extents{};  // of bytes, which numpy then takes for its own types
  std::copy(shape.begin(), shape.end(), extents.begin());
  extents[static_cast<size_t>(last)] *= static_cast<size_t>(dtype.bits() / 8);
  const nb::ndarray<nb::numpy, uint8_t> array(
      owner->view().data(), static_cast<size_t>(shape.rank()), extents.data(), capsule);
  return nb::cast(array).attr("view")(storage);
}

}  // namespace

Framework::Made Framework::empty_own(DType dtype, const Shape& shape) const {
  TW_REQUIRE(exchange_ != nullptr || is_torch_,
             "outputs on {} of arrays that aren't torch's can't be allocated; pass out", device_);
  if (is_torch_) {
    if (auto made = torch_memory(dtype, shape, device_)) {
      return {std::move(made->object), Tensor(made->data, dtype, shape, device_), {}};
    }
  }
  nb::object made = exchange_ != nullptr ? exchange_empty(*exchange_, dtype, shape, device_)
                                         : torch_empty(dtype, shape, device_);
  const Tensor memory =
      exchange_ != nullptr ? exchange_view(*exchange_, made).value() : torch_view(made).value();
  return {std::move(made), Tensor(memory.data(), dtype, shape, device_), {}};
}

Stream Framework::current_stream() const {
  if (device_.kind == DeviceKind::cpu) return {};
  if (exchange_ != nullptr) return exchange_stream(*exchange_, device_);
  return is_torch_ ? torch_stream(device_) : Stream{};
}

Framework::Made Framework::empty(DType dtype, const Shape& shape, bool raw_bits) const {
  const bool is_small = storage_bytes(dtype, shape.numel()) < kLargeBytes;
  if (device_.kind != DeviceKind::cpu || (exchange_ != nullptr && is_small)) {
    return empty_own(dtype, shape);
  }
  if (nb::object from_dlpack = this->from_dlpack(); from_dlpack.is_valid()) {
    auto* owner = new OwnedTensor(dtype, shape);
    const nb::capsule capsule(owner, [](void* p) noexcept { delete static_cast<OwnedTensor*>(p); });
    std::array<size_t, kMaxRank> extents{};
    std::copy(shape.begin(), shape.end(), extents.begin());
    const DLPackType type = to_dlpack(dtype);
    return {nb::cast(nb::ndarray<nb::array_api>(
                owner->view().data(), static_cast<size_t>(shape.rank()), extents.data(), capsule,
                nullptr, {type.code, type.bits, 1}, nb::device::cpu::value)),
            owner->view(), std::move(from_dlpack)};
  }
  const auto index = static_cast<size_t>(dtype.scalar);
  const nb::object& extension = numpy().extension[index];
  nb::object array = empty_numpy(dtype, shape);
  const Borrowed memory(array);
  const Tensor tensor(memory.tensor().data(), dtype, shape);
  if (extension.is_valid() && !raw_bits) array = array.attr("view")(extension);
  return {std::move(array), tensor, {}};
}

Framework::Made Framework::empty_columns(DType dtype, int64_t m, int64_t n, int64_t pitch,
                                         bool raw_bits) const {
  if (is_torch_ && device_.kind != DeviceKind::cpu) {
    if (auto made = torch_memory(dtype, {n, pitch}, device_, m)) {
      return {std::move(made->object), Tensor(made->data, dtype, {m, n}, {1, pitch}, device_), {}};
    }
  }
  if (exchange_ != nullptr && device_.kind != DeviceKind::cpu) {
    nb::object made = exchange_empty(*exchange_, dtype, {n, pitch}, device_, m);
    const Tensor memory = exchange_view(*exchange_, made).value();
    return {std::move(made), Tensor(memory.data(), dtype, {m, n}, {1, pitch}, device_), {}};
  }
  const Made whole = empty(dtype, {n, pitch}, raw_bits);
  nb::object columns = finish(whole).attr("T")[nb::slice(nb::int_(0), nb::int_(m), nb::int_(1))];
  return {std::move(columns), Tensor(whole.tensor.data(), dtype, {m, n}, {1, pitch}, device_), {}};
}

nb::object Framework::finish(const Made& made) {
  return made.from_dlpack.is_valid() ? made.from_dlpack(made.object) : made.object;
}

}  // namespace tw::python
