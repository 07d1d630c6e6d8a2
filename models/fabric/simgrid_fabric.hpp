// A SimGrid platform as a fabric: its hosts are the endpoints, in the order of the file, and messages take SimGrid's routes.
#pragma once

#include "kernels/base/error.hpp"
#include "models/fabric/fabric.hpp"
#include "models/platform/platform.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

struct SimgridFabric {
  std::string file = {};  // as it was named
  std::shared_ptr<const Platform> platform = {};
  int nics = 1;  // of each server; a host has one

  static constexpr std::string_view type = "simgrid";
  std::int64_t endpoints() const { return platform == nullptr ? 0 : static_cast<std::int64_t>(platform->hosts.size()); }
  friend bool operator==(const SimgridFabric& a, const SimgridFabric& b) { return a.file == b.file && a.nics == b.nics; }
};

std::vector<Problem> problems(const SimgridFabric&);

// A link of the platform is a link of the fabric that leads from and to a device of its name: a platform does not say what is at the ends
// of a link, and a SHARED one is the same in both directions. What passes a FATPIPE gets no more than its bandwidth, and shares it with
// nobody.
std::unique_ptr<Fabric> build(const SimgridFabric&);

}  // namespace weft
