#include "kernels/base/error.hpp"
#include "sim/farm/farm.hpp"

#include <algorithm>
#include <cstring>
#include <thread>

namespace weft {

using namespace std::chrono_literals;

namespace {

// Proves to each other that both know the secret. Nothing where the other side is not rank 0 of this job.
std::optional<Socket> introduced(const std::string& address, Hello ours, const std::string& secret, Deadline deadline) {
  try {
    Socket socket = tcp_connect(address, deadline);
    if (introduce(socket, ours, secret, deadline) != Answerer::proven) return std::nullopt;
    return socket;
  } catch (const RunError&) {
    return std::nullopt;
  }
}

}  // namespace

FarmWorker::FarmWorker(const JobRanks& job, const std::filesystem::path& folder, const std::string& command,
                       std::chrono::seconds patience) {
  const auto file = meeting_file(job, folder);
  Hello ours;
  ours.rank = job.rank;
  ours.ranks = job.ranks;
  std::memcpy(ours.job.data(), command.data(), std::min(command.size(), ours.job.size() - 1));
  const auto deadline = std::chrono::steady_clock::now() + patience;
  do {
    if (const auto place = find_meeting(file))
      for (const std::string& address : place->addresses)
        if (auto socket = introduced(address, ours, place->secret, std::chrono::steady_clock::now() + 2s)) {
          connection_.emplace(std::move(*socket));
          return;
        }
    std::this_thread::sleep_for(50ms);
  } while (std::chrono::steady_clock::now() < deadline);
  throw RunError(fmt::format("rank {} has not found rank 0 through {} within {} s, and takes no part; is the folder the same on all hosts?",
                             job.rank, file.string(), patience.count()));
}

std::optional<std::string> FarmWorker::serve(const std::string& fingerprint, const Tasks& tasks) {
  connection_->send({.kind = FarmMessage::Kind::ready, .batch = batch_, .number = tasks.slots, .text = fingerprint});
  while (!tasks.interrupted()) {
    const bool open = connection_->attend();
    while (const auto message = connection_->next()) {
      if (message->kind == FarmMessage::Kind::bye) return std::nullopt;
      if (message->batch != batch_) continue;
      if (message->kind == FarmMessage::Kind::task) tasks.start(message->number);
      if (message->kind == FarmMessage::Kind::results) {
        ++batch_;
        return message->text;
      }
    }
    if (!open) throw RunError("rank 0 is gone");
    std::vector<pollfd> fds = tasks.waiting();
    fds.push_back(connection_->waiting());
    ::poll(fds.data(), fds.size(), 200);
    for (auto& [task, outcome] : tasks.ended())
      connection_->send({.kind = FarmMessage::Kind::done, .batch = batch_, .number = task, .text = std::move(outcome)});
  }
  return std::nullopt;
}

}  // namespace weft
