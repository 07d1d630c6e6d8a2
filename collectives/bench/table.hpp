// The table of nccl-tests: out of place and in place, or in place only where nothing else ran. With a time for each iteration as its
// `-I 1` prints it, where `time` is their median. Whatever reads nccl-tests reads this.
#pragma once

#include "collectives/bench/measure.hpp"
#include "collectives/bench/settings/settings.hpp"
#include "collectives/bench/worlds/world.hpp"

#include <iosfwd>
#include <string>
#include <vector>

namespace weft::bench {

class Table {
 public:
  Table(std::ostream& out, const Settings& settings);

  void header(const Medium&);
  void note(const std::string& text);
  void begin(const std::string& algorithm);
  void row(const Row&);
  void footer();  // and the file of -J
  std::int64_t wrong() const { return wrong_; }
  // What nccl-tests writes with -J, once all rows are there.
  std::string json() const;

 private:
  void compare() const;
  void write_json() const;
  std::string block(std::int64_t size_bytes, const std::vector<double>& times_us, std::int64_t wrong) const;
  double busbw_average() const;

  std::ostream& out_;
  const Settings& settings_;
  const std::string began_;  // when
  std::string about_ = {};   // what the ranks run on
  std::vector<Row> rows_;
  std::int64_t wrong_ = 0;
};

}  // namespace weft::bench
