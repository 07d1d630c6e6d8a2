// Clusters that nobody has measured: the profile of a class of systems, and what it says of systems that it was not made from.
#pragma once

#include "validation/references.hpp"

#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace weft {

// A system predicted without a measurement of it: by the profile made of the other systems' of its class. Of hosts it is their mean with
// what is usual; else half of the way from what is published to their middle.
struct JudgedMember {
  std::string reference;
  std::vector<std::string> from;  // the other systems
  ErrorSummary error = {};        // of all its points
};
struct JudgedClass {
  std::string name;
  std::vector<JudgedMember> members;
  ErrorSummary error = {};  // of all points of all members
  // Systems of one description were measured to take different times for the same calls, so that with one profile for them all,
  // whatever it is, the 95th percentile is at least this; 0 where no two systems are described alike.
  double least_p95 = 0;
};

// By profile the names of the parameters that its measurements did not determine; none where nothing is known of it.
using Undetermined = std::vector<std::set<std::string>>;

// Parameter by parameter the middle one of the profiles that determine it, or of all where none does, or one alone of more than two, which
// says more of its system than of the others (of an even number the lower of the two in the middle), and size by size of their messages'
// costs; what is neither is the first's. Throws InputError where there is none.
HardwareProfile middle_of(const std::vector<HardwareProfile>& profiles, const Undetermined& undetermined = {});

// The same with the geometric mean of times, rates and factors that all of them have; of sizes and of how often something is done, the
// middle one.
HardwareProfile mean_of(const std::vector<HardwareProfile>& profiles);

// Factors of NCCL's table, its base latency with a call's overhead, and biases become the geometric mean of what they are and of what they
// are where nothing is fitted, of hops between servers of what is usual; what a channel adds to a call becomes half of it. Few systems say
// little of others, and those whom nobody has measured are as likely to be on the other side of the table.
HardwareProfile halfway_from_published(HardwareProfile profile);

// The classes of these references, in the order of their names. Of one with a single system nothing can be said.
std::vector<JudgedClass> judge_classes(const std::vector<Reference>& references);

// The profile that ships of each class, by file: made of all its systems, with the error of leaving each out.
std::vector<std::pair<std::filesystem::path, std::string>> class_profiles(const std::vector<Reference>& references,
                                                                          const std::vector<JudgedClass>& classes);

}  // namespace weft
