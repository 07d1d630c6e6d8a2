#include "sim/in_network/agent_rounds.hpp"

#include <algorithm>

namespace weft {

void AgentRounds::set_jobs(std::vector<Job> jobs) {
  jobs_ = std::move(jobs);
  begun_.resize(jobs_.size());
  packets_.resize(jobs_.size());
  progress_.resize(jobs_.size());
  bool open = false;
  for (std::size_t j = 0; j < jobs_.size(); ++j) {
    const Job& job = jobs_[j];
    if (!job.owner) continue;
    open = true;
    progress_[j].resize(job.workers.size());
    for (std::size_t w = 0; w < job.workers.size(); ++w)
      for (const Member& m : job.workers[w]) {
        const auto at = static_cast<std::size_t>(m.address);
        if (worker_of_.size() <= at) worker_of_.resize(at + 1, {-1, -1});
        worker_of_[at] = {static_cast<int>(j), static_cast<int>(w)};
      }
  }
  ended_.resize(worker_of_.size());
  if (open) datagrams_.watch_calls(*this);
}

void AgentRounds::begin_round(std::size_t j, int worker, std::int64_t elements) {
  Job& job = jobs_[j];
  const auto flows = static_cast<std::int64_t>(std::max<std::size_t>(job.servers.size(), 1));
  const bool first = progress_[j][static_cast<std::size_t>(worker)].begun++ == begun_[j];
  if (first) ++begun_[j];
  const std::vector<Member>& agents = job.workers[static_cast<std::size_t>(worker)];
  for (std::size_t f = 0; f < agents.size(); ++f) {
    const std::int64_t values = share_of_server(elements, static_cast<std::int64_t>(f), flows).count;
    const std::int64_t packets = (values + job.values_per_packet - 1) / job.values_per_packet;
    if (first) {
      packets_[j] += packets;
      if (packets_[j] > UINT32_MAX / 2)
        throw RunError(
            fmt::format("the steps of a training job have more than {} packets, and there are no numbers for more", UINT32_MAX / 2));
      if (!job.servers.empty()) job.servers[f]->add_round(static_cast<std::uint32_t>(packets));
    }
    agents[f].agent->add_round(static_cast<std::uint32_t>(packets));
    datagrams_.start_again(agents[f].address, datagrams_.now());
  }
}

// A round has ended at a worker when it has with all of its servers.
void AgentRounds::agent_called(Address address) {
  const auto at = static_cast<std::size_t>(address);
  if (at >= worker_of_.size() || worker_of_[at].first < 0) return;
  const auto job = static_cast<std::size_t>(worker_of_[at].first), worker = static_cast<std::size_t>(worker_of_[at].second);
  const auto ended_at = [&](const Member& m) { return m.agent->rounds_ended(); };
  const std::vector<Member>& agents = jobs_[job].workers[worker];
  const std::int64_t own = std::ranges::find(agents, address, &Member::address)->agent->rounds_ended();
  if (own == ended_[at]) return;
  ended_[at] = own;
  const std::int64_t all = ended_at(*std::ranges::min_element(agents, {}, ended_at));
  for (Progress& p = progress_[job][worker]; p.ended < all;) {
    ++p.ended;
    jobs_[job].owner->round_ended(static_cast<int>(worker));
  }
}

bool AgentRounds::starts_ahead() const {
  return std::ranges::any_of(jobs_, [](const Job& job) { return job.owner && job.owner->may_begin_rounds(); });
}

Driver::State AgentRounds::owners() const {
  Driver::State out = Driver::State::finished;
  for (const Job& job : jobs_)
    if (job.owner)
      if (const Driver::State one = job.owner->owner_state(); one == Driver::State::running || out == Driver::State::finished) out = one;
  return out;
}

}  // namespace weft
