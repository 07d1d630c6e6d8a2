#include "collectives/schedule/repeated_steps.hpp"

#include "kernels/base/error.hpp"

#include <algorithm>
#include <utility>

namespace weft {

RepeatedSteps::RepeatedSteps(int ranks, int chunks, std::vector<RepeatedStep> steps) {
  std::erase_if(steps, [](const RepeatedStep& s) { return s.times == 0; });
  auto data = std::make_shared<Data>();
  for (const RepeatedStep& s : steps) {
    check(s.times > 0 && s.block > 0 && chunks % s.block == 0, "a step {} times, blocks of {} of {} chunks", s.times, s.block, chunks);
    const int count = s.first.transfers().empty() ? 1 : s.first.transfers().front().count;
    check(count > 0 && s.block % count == 0 && s.turn % count == 0, "{} chunks of a block of {} turn by {}", count, s.block, s.turn);
    for (const Transfer& t : s.first.transfers())
      check(t.from >= 0 && t.from < ranks && t.to >= 0 && t.to < ranks && t.into == t.chunk && t.count == count && t.chunk >= 0 &&
                t.chunk < chunks && t.chunk % count == 0,
            "{} of {} ranks and {} chunks is no range that turns", to_string(t), ranks, chunks);
    data->begins.push_back(data->count);
    data->movers.push_back(movers_of(s, chunks));
    data->count += s.times;
  }
  data->steps = std::move(steps);
  data_ = std::move(data);
}

RepeatedSteps::Movers RepeatedSteps::movers_of(const RepeatedStep& step, int chunks) {
  const std::span<const Transfer> transfers = step.first.transfers();
  Movers out{.count = transfers.empty() ? 1 : transfers.front().count, .begin = {}, .transfers = {}};
  const auto range_of = [&](const Transfer& t) { return static_cast<std::size_t>(t.chunk / out.count); };
  out.begin.resize(static_cast<std::size_t>(chunks / out.count) + 1);
  for (const Transfer& t : transfers) ++out.begin[range_of(t) + 1];
  for (std::size_t i = 1; i < out.begin.size(); ++i) out.begin[i] += out.begin[i - 1];
  std::vector<std::uint32_t> next(out.begin.begin(), out.begin.end() - 1);
  out.transfers.resize(transfers.size());
  for (std::uint32_t i = 0; i < transfers.size(); ++i) out.transfers[next[range_of(transfers[i])]++] = i;
  return out;
}

RepeatedSteps::Place RepeatedSteps::place_of(int step) const {
  const auto after = std::ranges::upper_bound(data_->begins, step);
  const auto index = static_cast<std::size_t>(after - data_->begins.begin()) - 1;
  return {index, step - data_->begins[index]};
}

void RepeatedSteps::append(const Place& place, Transfer t, Step& out) const {
  t.chunk = t.into = data_->steps[place.index].turned(t.chunk, place.time);
  out.mutable_transfers().push_back(t);
}

void RepeatedSteps::operator()(int step, Step& out) const {
  const Place place = place_of(step);
  const std::span<const Transfer> transfers = data_->steps[place.index].first.transfers();
  out.mutable_transfers().reserve(transfers.size());
  for (const Transfer& t : transfers) append(place, t, out);
}

void RepeatedSteps::produce_of(int step, int chunk, Step& out) const {
  out.clear();
  const Place place = place_of(step);
  const RepeatedStep& repeated = data_->steps[place.index];
  const Movers& movers = data_->movers[place.index];
  const auto range = static_cast<std::size_t>(repeated.turned(chunk, -place.time) / movers.count);
  for (std::uint32_t i = movers.begin[range]; i < movers.begin[range + 1]; ++i)
    append(place, repeated.first.transfers()[movers.transfers[i]], out);
}

bool RepeatedSteps::repeats(int step) const { return place_of(step).time > 0; }

int RepeatedSteps::repeats_of(int step) const {
  const Place place = place_of(step);
  return data_->steps[place.index].times - 1 - place.time;
}

Steps repeated_steps(int ranks, int chunks, std::vector<RepeatedStep> steps) {
  const RepeatedSteps produce(ranks, chunks, std::move(steps));
  return {produce.count(), produce};
}

}  // namespace weft
