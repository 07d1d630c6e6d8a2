// Where ranks that do not know each other yet leave word: c10d's store, seen from here.
#pragma once

#include <optional>
#include <string>

namespace weft {

class KeyStore {
 public:
  virtual ~KeyStore() = default;
  virtual void set(const std::string& key, const std::string& value) = 0;
  virtual std::optional<std::string> get(const std::string& key) = 0;  // nothing where it has not been set; does not wait
};

}  // namespace weft
