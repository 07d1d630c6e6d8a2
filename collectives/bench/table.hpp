// The table of nccl-tests as `-I 1` prints it, with the in-place half only, since that is what runs here; `time` is the
// median. Whatever reads nccl-tests reads this.
#pragma once

#include "collectives/bench/measure.hpp"
#include "collectives/bench/settings.hpp"
#include "collectives/bench/world.hpp"

#include <iosfwd>
#include <string>
#include <vector>

namespace weft::bench {

class Table {
 public:
  Table(std::ostream& out, const Settings& settings) : out_(out), settings_(settings) {}

  void header(const Medium&) const;
  void begin(const std::string& algorithm);
  void row(const Row&);
  void footer();
  std::int64_t wrong() const { return wrong_; }

 private:
  void compare() const;

  std::ostream& out_;
  const Settings& settings_;
  std::vector<Row> rows_;
  std::int64_t wrong_ = 0;
};

}  // namespace weft::bench
