#include "validation/train/digits.hpp"

#include "kernels/base/error.hpp"
#include "kernels/files/files.hpp"

#include <algorithm>
#include <sstream>
#include <string>

namespace weft::train {
namespace {

constexpr std::string_view header = "pixels,digit", letters = "0123456789abcdefg";
constexpr std::size_t every = 5, least = 50;

bool is_image(const std::string& line) {
  return line.size() == Images::pixels + 2 && line[Images::pixels] == ',' && line.back() >= '0' && line.back() <= '9' &&
         line.find_first_not_of(letters) == Images::pixels;
}

void add(const std::string& line, Images& images) {
  for (int i = 0; i < Images::pixels; ++i)
    images.values.push_back(static_cast<float>(letters.find(line[static_cast<std::size_t>(i)])) / 16.0f);
  images.labels.push_back(line.back() - '0');
}

}  // namespace

Digits read_digits(const std::filesystem::path& file) {
  std::istringstream in(read_file(file));
  std::string line;
  std::getline(in, line);
  if (line != header) throw InputError(fmt::format("{}:1: must be \"{}\", got \"{}\"", file.string(), header, line.substr(0, 80)));
  Digits digits;
  for (std::size_t number = 0; std::getline(in, line); ++number) {
    if (!is_image(line))
      throw InputError(fmt::format("{}:{}: must be 64 pixels, 0 to 9 and a to g, a comma and a digit, got \"{}\"", file.string(),
                                   number + 2, line.substr(0, 80)));
    add(line, number % every == every - 1 ? digits.test : digits.training);
  }
  const std::size_t found = digits.training.count() + digits.test.count();
  if (found < least) throw InputError(fmt::format("{}: must have at least {} images, has {}", file.string(), least, found));
  return digits;
}

}  // namespace weft::train
