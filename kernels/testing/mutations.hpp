// Texts that are nearly right, for readers that must read or refuse whatever they are given. WEFT_MUTATIONS=1000000 asks for a longer run,
// as under sanitizers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace weft {

inline int mutation_rounds(int otherwise) {
  const char* asked = std::getenv("WEFT_MUTATIONS");
  return asked != nullptr ? std::atoi(asked) : otherwise;
}

// Takes one of the seeds and changes it in one to four places, never to nothing.
class Mutations {
 public:
  Mutations(std::vector<std::string> seeds, std::uint64_t seed) : seeds_(std::move(seeds)), dice_(seed) {}

  std::string next() {
    std::string text = seeds_[below(seeds_.size())];
    for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
      change(text);
      if (text.empty()) text = " ";
    }
    return text;
  }

 private:
  std::size_t below(std::size_t n) { return static_cast<std::size_t>(dice_() % n); }

  void change(std::string& text) {
    const std::size_t at = below(text.size());
    switch (below(16)) {
      case 0:
        text.resize(at);
        break;
      case 1:
        text.insert(at, below(2) == 0 ? "9999999999999999999" : "-1");
        break;
      case 2:
      case 3:
        text[at] = static_cast<char>(text[at] ^ (1 << below(8)));
        break;
      case 4:
      case 5:
      case 6:
        text[at] = static_cast<char>(dice_());
        break;
      case 7:
      case 8:
      case 9:
        text.erase(at, 1 + below(8));
        break;
      case 10:
      case 11:
      case 12:
        text.insert(at, text.substr(below(text.size()), below(40)));
        break;
      default:
        if (const std::size_t digit = text.find_first_of("0123456789", at); digit != std::string::npos)
          text[digit] = static_cast<char>('0' + below(10));
    }
  }

  const std::vector<std::string> seeds_;
  std::mt19937_64 dice_;
};

}  // namespace weft
