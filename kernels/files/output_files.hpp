// What a command may write over: one rule for all of them, asked before anything runs.
//   A file that is missing may be written. One that the same command wrote for the same purpose is replaced, so that a
//   command can be repeated. Any other is refused, unless --force is given. What a command reads it never writes over, and
//   it never writes two things into one file.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct OutputFile {
  std::filesystem::path file;
  std::string argument;  // that asks for it, as the user knows it: "-o p.json"
  std::string what;      // it replaces without being forced: "a hardware profile of weft calibrate"
  // Whether a file that begins with this text (read_beginning()) is one. Not given: nothing is.
  std::function<bool(std::string_view text)> replaces = {};
};

// Of a file's text as much as tells what it is: its first MiB. Throws InputError.
std::string read_beginning(const std::filesystem::path& file);

// Throws InputError with every problem: "-o p.json: p.json exists and is not a hardware profile of weft calibrate; ...".
void refuse_to_replace(const std::vector<OutputFile>& outputs, const std::vector<std::filesystem::path>& inputs, bool force);

// For a command that makes no folders: throws InputError "-o out/p.svg: there is no folder out" where that is so.
void refuse_missing_folder(const std::string& argument, const std::filesystem::path& file);

// For a command that makes folders, and takes long before it writes: makes what writing would, and takes it away again. Throws InputError
// "-o out/p.json: cannot be written: Permission denied" with every problem.
void refuse_unwritable(const std::vector<OutputFile>& outputs);

// For an argument that names a file or folder to write: throws InputError "-o: must name a folder, got \"\"" where it is empty.
void refuse_empty_name(const std::string& flag, const std::string& value, const std::string& what);

}  // namespace weft
