#include "kernels/base/error.hpp"
#include "sim/farm/farm.hpp"

#include <algorithm>
#include <cstring>

namespace weft {

using namespace std::chrono_literals;

namespace {

constexpr auto late = 10s;     // after its start rank 0 waits for ranks that have not come, when all is done
constexpr auto farewell = 2s;  // in which ranks hear that nothing more comes, and go

}  // namespace

FarmLeader::FarmLeader(const JobRanks& job, const std::filesystem::path& folder, const std::string& command)
    : job_(job), file_(meeting_file(job, folder)), secret_(new_secret()), listener_(job.one_host() ? "127.0.0.1:0" : "0.0.0.0:0") {
  ours_.ranks = job.ranks;
  std::memcpy(ours_.job.data(), command.data(), std::min(command.size(), ours_.job.size() - 1));
  announce(file_, {.secret = secret_, .addresses = addresses_of_this_host(listener_.address(), job.one_host())});
}

FarmLeader::~FarmLeader() {
  try {
    leaving_ = true;
    for (Worker& worker : workers_) answer(worker);
    if (under_way_) stop();
    const auto until = std::chrono::steady_clock::now() + farewell, come_until = under_way_ ? until : std::max(until, began_ + late);
    const auto all_gone = [&] {
      const bool all_came = static_cast<int>(seen_.size()) + 1 == job_.ranks;
      return workers_.empty() && (all_came || under_way_ || std::chrono::steady_clock::now() > began_ + late);
    };
    while (attend(), !all_gone() && std::chrono::steady_clock::now() < (workers_.empty() ? come_until : until)) {
      std::vector<pollfd> fds = waiting();
      ::poll(fds.data(), fds.size(), 50);
    }
  } catch (const std::exception&) {  // who does not hear it finds the connection closed
  }
  std::error_code gone;
  std::filesystem::remove(file_, gone);
}

void FarmLeader::begin(std::string fingerprint, Events events) {
  fingerprint_ = std::move(fingerprint);
  events_ = std::move(events);
  under_way_ = true;
  for (Worker& worker : workers_) answer(worker);
  attend();
}

bool FarmLeader::give(std::size_t task) {
  const auto free = std::ranges::find_if(workers_, [](const Worker& w) { return w.ready && w.tasks.size() < w.slots; });
  if (free == workers_.end()) return false;
  free->tasks.insert(task);
  free->connection.send({.kind = FarmMessage::Kind::task, .batch = ended_.size(), .number = task});
  free->connection.attend();  // if that fails, the next attend() finds it out
  return true;
}

std::vector<pollfd> FarmLeader::waiting() const {
  std::vector<pollfd> out = {{.fd = listener_.descriptor(), .events = POLLIN, .revents = 0}};
  for (const Caller& caller : callers_) out.push_back({.fd = caller.socket().descriptor(), .events = POLLIN, .revents = 0});
  for (const Worker& worker : workers_) out.push_back(worker.connection.waiting());
  return out;
}

void FarmLeader::greet() {
  constexpr std::size_t max_unproven = 1024;
  while (callers_.size() < max_unproven) {
    std::optional<Socket> socket = listener_.accept();
    if (!socket) break;
    callers_.emplace_back(std::move(*socket), ours_, secret_);
  }
  for (auto caller = callers_.begin(); caller != callers_.end();) {
    const Caller::State state = caller->advance();
    if (state == Caller::State::waits) {
      ++caller;
      continue;
    }
    if (state == Caller::State::proven) {
      const Hello& hello = caller->hello();
      if (hello.job_text() != ours_.job_text())
        warn(fmt::format("rank {} was asked for something else and takes no part: {}, and rank 0 for: {}", hello.rank, hello.job_text(),
                         ours_.job_text()));
      else
        workers_.push_back({.rank = hello.rank, .connection = FarmConnection(std::move(caller->socket()))});
      seen_.insert(hello.rank);
    }
    caller = callers_.erase(caller);
  }
}

void FarmLeader::take(Worker& worker) {
  while (const auto message = worker.connection.next()) {
    if (message->kind == FarmMessage::Kind::ready) {
      if (message->batch < ended_.size()) {  // it comes late
        worker.connection.send({.kind = FarmMessage::Kind::results, .batch = message->batch, .text = ended_[message->batch]});
        continue;
      }
      worker.asks = *message;
      answer(worker);
    } else if (message->kind == FarmMessage::Kind::done && message->batch == ended_.size() && worker.tasks.erase(message->number) > 0) {
      events_.done(message->number, message->text);
    }
  }
}

// A worker may ask for the next batch before rank 0 has begun it, and then waits for it.
void FarmLeader::answer(Worker& worker) {
  if (!worker.asks || (!under_way_ && !leaving_)) return;
  const FarmMessage asks = *std::exchange(worker.asks, std::nullopt);
  worker.slots = std::max<std::size_t>(1, asks.number);
  worker.ready = !leaving_ && asks.text == fingerprint_;
  if (worker.ready) return;
  if (!leaving_)
    warn(fmt::format("rank {} takes no part: it has other rows than rank 0 (another version of Weft, or other files?)", worker.rank));
  worker.connection.send({.kind = FarmMessage::Kind::bye});
}

void FarmLeader::lose(Worker& worker) {
  if (!worker.tasks.empty()) warn(fmt::format("rank {} is lost; what it was simulating is simulated again", worker.rank));
  for (const std::size_t task : std::exchange(worker.tasks, {})) events_.lost(task);
}

void FarmLeader::attend() {
  greet();
  for (auto worker = workers_.begin(); worker != workers_.end();) {
    const bool open = worker->connection.attend();
    take(*worker);
    if (open) {
      ++worker;
      continue;
    }
    lose(*worker);
    worker = workers_.erase(worker);
  }
}

void FarmLeader::end(std::string results) {
  for (Worker& worker : workers_) {
    if (worker.ready) worker.connection.send({.kind = FarmMessage::Kind::results, .batch = ended_.size(), .text = results});
    worker.ready = false;
    worker.tasks.clear();
  }
  ended_.push_back(std::move(results));
  under_way_ = false;
  attend();
}

void FarmLeader::stop() {
  leaving_ = true;
  for (Worker& worker : workers_) {
    worker.connection.send({.kind = FarmMessage::Kind::bye});
    worker.ready = false;
    worker.tasks.clear();
  }
  events_ = {};
  attend();
}

void FarmLeader::warn(std::string what) {
  if (std::ranges::find(warnings_, what) == warnings_.end()) warnings_.push_back(std::move(what));
}

}  // namespace weft
