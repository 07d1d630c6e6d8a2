// A command that may have been started many times at once, by mpirun or srun: rank 0 does it, and the others help.
#pragma once

#include "sim/farm/farm.hpp"

#include <functional>
#include <iosfwd>
#include <optional>
#include <string>

namespace weft {

class JobOfRanks {
 public:
  // `folder` is one that all ranks see, where the command has one; `flag` names it. Throws InputError where ranks of several hosts have
  // none.
  JobOfRanks(const std::string& folder, const std::string& flag);

  bool helps() const { return job_ && job_->rank > 0; }
  // Of a rank that helps: joins rank 0 and does its part; the exit status. A rank that does not find rank 0 says so and fails nothing.
  int help(std::ostream& err, const std::function<void(Farm&, unsigned workers)>& part);

  // Of rank 0, once the folder is there; null where there are no other ranks.
  Farm* lead();
  unsigned workers() const { return job_ ? cores_of(*job_) : 0; }  // 0: one for each core
  void tell(std::ostream& err) const;                              // what became of the others

 private:
  std::optional<JobRanks> job_;
  std::string folder_;
  Farm farm_;
};

}  // namespace weft
