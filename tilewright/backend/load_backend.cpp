// Opens backends, each once, from the folder of the core library.
#include <algorithm>
#include <filesystem>
#include <map>
#include <mutex>

#include <dlfcn.h>

#include "tilewright/backend/backend.h"
#include "tilewright/backend/build_id.h"
#include "tilewright/backend/substitute.h"
#include "tilewright/base/codes.h"
#include "tilewright/base/error.h"

namespace tw::backend {
namespace {

/// The folder of the library or program that this code is in.
std::filesystem::path own_folder() {
  Dl_info info{};
  TW_CHECK(dladdr(reinterpret_cast<void*>(&build_id), &info) != 0, "no library contains this code");
  return std::filesystem::absolute(info.dli_fname).parent_path();
}

const Backend& open_backend(const std::string& name) {
  const std::string path = own_folder() / format("libtw_{}.so", name);
  if (!std::filesystem::exists(path)) {
    throw Error(codes::tgt_04, {}, "backend '{}' isn't installed: there is no {}", name, path);
  }
  // Never closed: kernels that it loaded may run until the process ends.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw Error(codes::tgt_04, {}, "backend '{}' can't be opened: {}", name, dlerror());
  }
  auto* entry = reinterpret_cast<BackendEntry*>(dlsym(library, kBackendSymbol));
  TW_REQUIRE(entry != nullptr, "{} is no backend of tilewright", path);
  const BackendExport& exported = *entry();
  TW_REQUIRE(std::string(exported.build_id) == build_id(),
             "{} belongs to another build of tilewright ({}, this is {})", path, exported.build_id,
             build_id());
  return *exported.backend;
}

/// The backends in use by name.
struct Loaded {
  std::mutex mutex;
  std::map<std::string, const Backend*> backends;
};
Loaded& loaded() {
  static Loaded all;
  return all;
}

}  // namespace

const char* build_id() { return TW_BUILD_ID; }

std::vector<std::string> installed_backends() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(own_folder())) {
    const std::string file = entry.path().filename();
    if (file.starts_with("libtw_") && file.ends_with(".so")) {
      names.push_back(file.substr(6, file.size() - 9));
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

const Backend& load_backend(const std::string& name) {
  const std::lock_guard lock(loaded().mutex);
  const Backend*& backend = loaded().backends[name];
  if (backend == nullptr) backend = &open_backend(name);
  return *backend;
}

void substitute_backend(const Backend& backend) {
  const std::lock_guard lock(loaded().mutex);
  loaded().backends[backend.name()] = &backend;
}

}  // namespace tw::backend
