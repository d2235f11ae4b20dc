// Whole files and folders, with the system's reason when something fails; for the
// cache and artefacts.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tw::runtime {

/// An open file or folder, closed at the end of its life.
class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  Fd(Fd&& other) noexcept : fd_(other.fd_) { other.fd_ = -1; }
  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;
  ~Fd();
  int get() const { return fd_; }
  bool ok() const { return fd_ >= 0; }

 private:
  int fd_;
};

/// Opens a folder; not ok when there is none.
Fd open_folder(const std::string& path);

/// The content of a file of a folder; empty when it can't be read. `folder` may be AT_FDCWD.
std::optional<std::string> read_file_at(int folder, const std::string& name);

/// Creates a file of a folder; false with errno set when it can't be written whole.
bool write_file_at(int folder, const std::string& name, std::string_view content);

/// The system's text for errno: "No space left on device".
std::string system_reason();

}  // namespace tw::runtime
