// Runs programs of others: linkers and disassemblers.
#pragma once

#include <string>
#include <vector>

namespace tw::runtime {

/// A folder for temporary files, removed with its content.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::string file(const char* name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

/// Runs a program, found in PATH unless its name has a slash; what it prints is appended to a file.
/// Returns its exit status; -1 when there is no such program.
int run_tool(std::vector<std::string> words, const std::string& output_file);

}  // namespace tw::runtime
