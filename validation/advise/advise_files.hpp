// What other programs read of advice.
#pragma once

#include "validation/advise/advise.hpp"

#include <string>
#include <vector>

namespace weft {

struct Advice {
  const Scenario& scenario;
  const std::vector<AlgorithmChoice>& candidates;
  const AdviseTimes& times;
};

bool is_nccl(const AlgorithmChoice&);
bool runs_for_real(const AlgorithmChoice&);  // by weft bench, without saying what it is placed on

std::string advice_csv(const Advice&);   // every time that was simulated
std::string advice_plot(const Advice&);  // a script of gnuplot: how much later than the first, for all that are first or second somewhere
std::string nccl_tuner_conf(const Advice&);  // of the example tuner plugin: the first line that fits a size says what NCCL does
std::string nccl_settings(const Advice&);    // NCCL_ALGO and NCCL_PROTO, for a shell
std::string selection_table(const Advice&);  // for weft bench --algorithm auto --selection FILE

}  // namespace weft
