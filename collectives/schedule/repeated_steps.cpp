#include "collectives/schedule/repeated_steps.hpp"

#include "kernels/base/error.hpp"

#include <algorithm>
#include <utility>

namespace weft {

ChunkOrder::ChunkOrder(std::vector<int> by_place) : chunks(std::move(by_place)), place_of(chunks.size(), -1) {
  for (std::size_t place = 0; place < chunks.size(); ++place) {
    const int chunk = chunks[place];
    check(chunk >= 0 && static_cast<std::size_t>(chunk) < chunks.size() && place_of[static_cast<std::size_t>(chunk)] < 0,
          "chunk {} at place {} of an order of {}", chunk, place, chunks.size());
    place_of[static_cast<std::size_t>(chunk)] = static_cast<int>(place);
  }
}

RepeatedSteps::RepeatedSteps(int ranks, int chunks, std::vector<RepeatedStep> steps) {
  std::erase_if(steps, [](const RepeatedStep& s) { return s.times == 0; });
  auto data = std::make_shared<Data>();
  data->chunks = chunks;
  for (const RepeatedStep& s : steps) {
    check(s.times > 0 && s.block > 0 && chunks % s.block == 0, "a step {} times, blocks of {} of {} chunks", s.times, s.block, chunks);
    const int count = s.first.transfers().empty() ? 1 : s.first.transfers().front().count;
    check(count > 0 && s.block % count == 0 && s.turn % count == 0, "{} chunks of a block of {} turn by {}", count, s.block, s.turn);
    check(!s.order || (count == 1 && s.order->chunks.size() == static_cast<std::size_t>(chunks)),
          "{} chunks of {} turn as one in an order of their own", count, chunks);
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

void RepeatedSteps::produce_of(int step, std::span<const int> chunks, Step& out) const {
  out.clear();
  const Place place = place_of(step);
  const RepeatedStep& repeated = data_->steps[place.index];
  const Movers& movers = data_->movers[place.index];
  std::vector<std::uint32_t> moving;
  for (const int chunk : chunks) {
    const auto range = static_cast<std::size_t>(repeated.turned(chunk, -place.time) / movers.count);
    moving.insert(moving.end(), movers.transfers.begin() + movers.begin[range], movers.transfers.begin() + movers.begin[range + 1]);
  }
  std::ranges::sort(moving);
  moving.erase(std::unique(moving.begin(), moving.end()), moving.end());  // clang 14 knows no subranges
  for (const std::uint32_t i : moving) append(place, repeated.first.transfers()[i], out);
}

std::vector<int> RepeatedSteps::chunks_moved() const {
  std::vector<const RepeatedStep*> moved(static_cast<std::size_t>(data_->chunks));  // by which one last
  for (const RepeatedStep& step : data_->steps) {
    std::vector<int> left(static_cast<std::size_t>(data_->chunks / step.block), step.block);  // by block: those that it has not moved
    for (const Transfer& t : step.first.transfers()) {
      const int place = step.order ? step.order->place_of[static_cast<std::size_t>(t.chunk)] : t.chunk;
      int& of_block = left[static_cast<std::size_t>(place / step.block)];
      for (int time = 0; time < step.times && of_block > 0; ++time)
        for (int i = 0; i < t.count; ++i)
          if (std::exchange(moved[static_cast<std::size_t>(step.turned(t.chunk, time) + i)], &step) != &step) --of_block;
    }
  }
  std::vector<int> out;
  for (int chunk = 0; chunk < data_->chunks; ++chunk)
    if (moved[static_cast<std::size_t>(chunk)]) out.push_back(chunk);
  return out;
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
