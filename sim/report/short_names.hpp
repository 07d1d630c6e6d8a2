// What algorithms, swept objects and swept pointers are called beside each other: what differs between them. The report says the same in
// its page (page/data.js).
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

namespace weft {

// Labels without the settings that all of their name have: "nccl(algorithm=ring)" of "nccl(group=8,algorithm=ring)".
std::map<std::string, std::string> short_labels(const std::set<std::string>& labels);

// Of values that are JSON objects what differs among those of the same type, in words: {"type": "fat_tree", "leaves": 8, "spines": 4} is
// "spines 4" beside fat_trees of other spines, and "fat_tree" where no other is there. Other values stay as they are.
std::map<std::string, std::string> names_of_values(const std::set<std::string>& values);

// The last part of each pointer, with those before where it alone says little, as "on", or others end in it too: "host_link/bandwidth".
std::map<std::string, std::string> names_of_pointers(const std::vector<std::string>& pointers);

}  // namespace weft
