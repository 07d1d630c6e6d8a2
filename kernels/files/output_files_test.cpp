#include "kernels/files/output_files.hpp"

#include "kernels/files/files.hpp"
#include "kernels/testing/problems_of.hpp"
#include "kernels/testing/scratch_folder.hpp"

#include <fstream>
#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace weft;

namespace {

using Lines = std::vector<std::string>;

OutputFile plot_into(const std::filesystem::path& file) {
  return {
      .file = file, .argument = "--plot p", .what = "a plot", .replaces = [](std::string_view text) { return text.starts_with("<svg"); }};
}

Lines refused(const std::vector<OutputFile>& outputs, const std::vector<std::filesystem::path>& inputs, bool force) {
  return problems_of([&] { refuse_to_replace(outputs, inputs, force); });
}

}  // namespace

TEST_CASE("a missing file may be written, and one of the same kind replaced") {
  const ScratchFolder folder;
  CHECK(refused({plot_into(folder / "new.svg")}, {}, false) == Lines{});
  CHECK(refused({plot_into(folder.file("old.svg", "<svg>"))}, {}, false) == Lines{});
}

TEST_CASE("anything else is replaced only by force") {
  const ScratchFolder folder;
  const auto file = folder.file("notes.txt", "mine");
  CHECK(refused({plot_into(file)}, {}, false) ==
        Lines{fmt::format("--plot p: {} exists and is not a plot; write to another place, or give --force to replace it", file.string())});
  CHECK(refused({plot_into(file)}, {}, true) == Lines{});
}

TEST_CASE("an input is never an output, by whatever name and even by force") {
  const ScratchFolder folder;
  const auto file = folder.file("data.svg", "<svg>");
  std::filesystem::create_symlink(file, folder / "link.svg");
  for (const bool force : {false, true}) {
    CAPTURE(force);
    CHECK(refused({plot_into(folder / "link.svg")}, {file}, force) ==
          Lines{fmt::format("--plot p: {} is read by this command; write to another file", (folder / "link.svg").string())});
  }
}

TEST_CASE("two outputs are never one file, and only regular files are replaced") {
  const ScratchFolder folder;
  OutputFile second = plot_into(folder / "./p.svg");
  second.argument = "-o p";
  CHECK(refused({plot_into(folder / "p.svg"), second}, {}, true) ==
        Lines{fmt::format("-o p: {} would be written twice: --plot p asks for it too", (folder / "./p.svg").string())});
  CHECK(refused({plot_into("/dev/null"), plot_into(folder / ".")}, {}, true) ==
        Lines{"--plot p: /dev/null exists and is not a regular file; write to another",
              fmt::format("--plot p: {} exists and is not a regular file; write to another", (folder / ".").string())});
}

TEST_CASE("an empty name names nothing") {
  CHECK_THROWS_WITH_AS(refuse_empty_name("-o", "", "a folder"), "-o: must name a folder, got \"\"", InputError);
  CHECK_NOTHROW(refuse_empty_name("-o", "out", "a folder"));
}

TEST_CASE("a file is written whole or not at all, and nothing is left beside it") {
  const ScratchFolder folder;
  const auto file = folder.file("a.txt", "old");
  std::filesystem::create_symlink(file, folder / "link.txt");
  write_file(folder / "link.txt", "new");
  CHECK(std::filesystem::is_symlink(folder / "link.txt"));
  CHECK(read_file(file) == "new");
  CHECK_THROWS_WITH_AS(write_file("/dev/full/x", "x"), doctest::Contains("/dev/full/x: cannot be written: "), RunError);
  std::filesystem::create_directory(folder / "taken");
  folder.file("taken/x", "x");
  CHECK_THROWS_WITH_AS(write_file(folder / "taken", "x"), doctest::Contains("taken: cannot be written: "), RunError);
  const std::filesystem::directory_iterator begin(folder / "."), end;
  CHECK(std::distance(begin, end) == 3);  // the file, the link, the folder
}
