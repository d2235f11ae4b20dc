#include "tilewright/backend/cuda/toolchain/find_nvrtc.h"

#include <cstring>
#include <filesystem>
#include <fstream>

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include "tilewright/base/env.h"
#include "tilewright/base/format.h"

namespace tw::cuda {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNames[] = {"libnvrtc.so.13", "libnvrtc.so.12"};

/// NVRTC in a folder; empty when it isn't there.
std::string in_folder(const fs::path& folder) {
  std::error_code ignored;
  for (const char* name : kNames) {
    if (fs::exists(folder / name, ignored)) return folder / name;
  }
  if (fs::exists(folder / "libnvrtc.so", ignored)) return folder / "libnvrtc.so";
  return {};
}

/// The folder of Python packages, if this library lies in one of them.
fs::path packages_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&packages_folder), &info) == 0) return {};
  return fs::absolute(info.dli_fname).parent_path().parent_path();
}

std::vector<fs::path> folders() {
  std::vector<fs::path> all;
  for (const std::string& folder : env::library_folders()) all.emplace_back(folder);
  const fs::path packages = packages_folder();
  all.push_back(packages / "nvidia/cu13/lib");
  all.push_back(packages / "nvidia/cuda_nvrtc/lib");
  all.emplace_back("/usr/local/cuda/lib64");
  return all;
}

/// What the dynamic linker finds by the bare name. It can only be asked by opening the library.
std::string known_to_linker() {
  for (const char* name : kNames) {
    void* library = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) continue;
    link_map* map = nullptr;
    if (dlinfo(library, RTLD_DI_LINKMAP, &map) == 0) return map->l_name;
  }
  return {};
}

NvrtcFile identified(std::string path) {
  std::string build = elf_build_id(path);
  std::error_code ignored;
  if (build.empty()) build = format("{} bytes", fs::file_size(path, ignored));
  return {std::move(path), std::move(build), {}};
}

template <class T>
bool read_at(std::ifstream& file, uint64_t offset, T* items, size_t count) {
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(items), static_cast<std::streamsize>(count * sizeof(T)));
  return file.good();
}

/// The build id in a segment of notes; each note has a header, a name and a content, padded to 4.
std::string build_id_in(std::string_view notes) {
  while (notes.size() >= sizeof(Elf64_Nhdr)) {
    Elf64_Nhdr header;
    std::memcpy(&header, notes.data(), sizeof header);
    const size_t name = sizeof header, content = name + (header.n_namesz + 3U) / 4 * 4;
    const size_t end = content + (header.n_descsz + 3U) / 4 * 4;
    if (end > notes.size()) return {};
    if (header.n_type == NT_GNU_BUILD_ID && notes.substr(name, 3) == "GNU") {
      std::string text;
      for (const char c : notes.substr(content, header.n_descsz)) {
        text += format("{:02x}", static_cast<unsigned char>(c));
      }
      return text;
    }
    notes.remove_prefix(end);
  }
  return {};
}

}  // namespace

NvrtcFile find_nvrtc() {
  std::error_code ignored;
  if (const std::string chosen = env::nvrtc.get(); !chosen.empty()) {
    std::string path = fs::is_directory(chosen, ignored) ? in_folder(chosen) : chosen;
    if (!path.empty() && fs::exists(path, ignored)) return identified(std::move(path));
    return {.missing = "TW_NVRTC is " + chosen + ", where it isn't"};
  }
  std::vector<std::string> tried;
  for (const fs::path& folder : folders()) {
    if (std::string path = in_folder(folder); !path.empty()) return identified(std::move(path));
    tried.push_back(folder);
  }
  if (std::string path = known_to_linker(); !path.empty()) return identified(std::move(path));
  return {.missing =
              format("it is neither in {} nor known to the dynamic linker", join(tried, ", "))};
}

const NvrtcFile& nvrtc_file() {
  static const NvrtcFile found = find_nvrtc();
  return found;
}

std::string elf_build_id(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr header;
  if (!read_at(file, 0, &header, 1) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64) {
    return {};
  }
  std::vector<Elf64_Phdr> segments(header.e_phnum);
  if (!read_at(file, header.e_phoff, segments.data(), segments.size())) return {};
  for (const Elf64_Phdr& segment : segments) {
    if (segment.p_type != PT_NOTE || segment.p_filesz > 4096) continue;
    std::string notes(segment.p_filesz, '\0');
    if (!read_at(file, segment.p_offset, notes.data(), notes.size())) return {};
    if (std::string id = build_id_in(notes); !id.empty()) return id;
  }
  return {};
}

}  // namespace tw::cuda
