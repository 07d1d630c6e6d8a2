// How the ranks of a job find its rank 0: by a file in a folder that all of them see, which holds where rank 0 listens and a secret, and
// which only its owner can read.
#pragma once

#include "sim/farm/job_ranks.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace weft {

struct MeetingPlace {
  std::string secret;
  std::vector<std::string> addresses;  // host:port, the likeliest first
};

// In `folder`, or where that is not given in the system's folder for temporary files, which serves one host.
std::filesystem::path meeting_file(const JobRanks& job, const std::filesystem::path& folder);

// Removes what killed jobs have left there, and writes this one's. Throws RunError.
void announce(const std::filesystem::path& file, const MeetingPlace& place);

// Of printable characters.
std::string new_secret();

// Nothing while there is no such file, or it is not this user's alone.
std::optional<MeetingPlace> find_meeting(const std::filesystem::path& file);

// By which others reach this host; `listening` is "host:port".
std::vector<std::string> addresses_of_this_host(const std::string& listening, bool one_host);

}  // namespace weft
