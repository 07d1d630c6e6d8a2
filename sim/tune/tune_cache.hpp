// Best settings found before, by model and fabric: a start for those that are most alike.
#pragma once

#include "sim/tune/edit_distance.hpp"

#include <map>
#include <optional>
#include <string_view>

namespace weft {

struct TunedSettings {
  std::string name;  // for people: "resnet50 on star of 32"
  LabelledGraph model, fabric;
  std::map<std::string, std::string> settings;  // JSON pointer -> JSON value, as text
  double cost = 0;
};

class TuneCache {
 public:
  struct Match {
    const TunedSettings* entry = nullptr;
    double difference = 0;  // the mean of model's and fabric's, 0 to 1
  };
  // Replaces the entry of the same model and fabric when it is better than that.
  void add(TunedSettings entry);
  // The entry that is most alike, the earlier of equals; nothing when all differ by more than `most`.
  std::optional<Match> find(const LabelledGraph& model, const LabelledGraph& fabric, double most = 0.5) const;
  const std::vector<TunedSettings>& entries() const { return entries_; }

  std::string to_json() const;
  // Throws InputError with place and reason: a cache is a file that may be damaged.
  static TuneCache from_json(std::string_view text, const std::string& where);

 private:
  std::vector<TunedSettings> entries_;
};

}  // namespace weft
