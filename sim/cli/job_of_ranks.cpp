#include "sim/cli/job_of_ranks.hpp"

#include "sim/cli/commands.hpp"
#include "sim/results/version.hpp"

#include <ostream>

namespace weft {
namespace {

// What all ranks must be: rows are compared batch by batch.
std::string program() { return fmt::format("weft {} ({})", version(), commit()); }

constexpr std::chrono::seconds patience{60};

}  // namespace

JobOfRanks::JobOfRanks(const std::string& folder, const std::string& flag) : job_(job_ranks()), folder_(folder) {
  if (job_ && folder_.empty() && !job_->one_host())
    throw InputError(
        fmt::format("{}: is needed with ranks on several hosts, which find each other there: a folder that all of them see", flag));
}

int JobOfRanks::help(std::ostream& err, const std::function<void(Farm&, unsigned)>& part) {
  try {
    farm_.worker = std::make_unique<FarmWorker>(*job_, folder_, program(), patience);
  } catch (const RunError& error) {
    err << "weft: warning: " << error.what() << "\n";
    return exit_ok;
  }
  part(farm_, workers());
  return exit_ok;
}

Farm* JobOfRanks::lead() {
  if (!job_) return nullptr;
  if (!farm_.leader) farm_.leader = std::make_unique<FarmLeader>(*job_, folder_, program());
  return &farm_;
}

void JobOfRanks::tell(std::ostream& err) const {
  if (!farm_.leader) return;
  for (const std::string& warning : farm_.leader->warnings()) err << "weft: warning: " << warning << "\n";
}

}  // namespace weft
