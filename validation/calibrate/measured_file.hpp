// A file of measurements as the command line names it, and what is said there because the file does not:
// FILE:ranks=64,nodes=4,collective=broadcast,algorithm=nccl(algorithm=tree),back_to_back=20. It stands with its file, and not in an option
// of its own, because several files of one command are of different scales, collectives and algorithms.
#pragma once

#include "validation/measurements/measurement.hpp"

#include <string>
#include <vector>

namespace weft {

struct MeasuredFile {
  std::string name;
  int ranks = 0, nodes = 0;     // 0: as the file says
  int back_to_back = 0;         // calls of one timing; 0: as its format does it
  std::string collective = {};  // of what does not say; empty: as the file says
  std::string algorithm = {};   // of what names none, as in --rename
};

// What is read of it, of rows that `select` wants. Throws InputError also where every row says another collective than is said behind the
// file's name.
Measurements read_measurements(const MeasuredFile& file, ReadOptions options);

// The collectives of rows that are all of others than the one that was given for rows that do not say theirs; empty: some are of it.
std::string contradicted(const std::string& collective, const std::vector<Measurement>& rows);

// Throws InputError. What is behind the last colon is of the name if it has no "=", or if there is a file of the whole name.
std::vector<MeasuredFile> measured_files(const std::vector<std::string>& arguments);

}  // namespace weft
