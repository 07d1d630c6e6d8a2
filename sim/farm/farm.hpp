// Tasks of one command done by all processes that mpirun or srun has started for it. Every rank runs the same command and comes to the same
// batches of tasks; rank 0 gives the tasks of a batch out, one by one, takes the outcomes, and tells the others in the end. A rank may come
// late or be lost: what it was doing is then given to another.
#pragma once

#include "collectives/transports/tcp_hello.hpp"
#include "sim/farm/connection.hpp"
#include "sim/farm/meeting_file.hpp"

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <vector>

namespace weft {

// Rank 0 of the job.
class FarmLeader {
 public:
  // `command`: what all ranks must have been asked for, at most 200 characters; a rank that was asked for something else is refused.
  FarmLeader(const JobRanks& job, const std::filesystem::path& folder, const std::string& command);
  // Waits a moment for the ranks to go, also for those that have not come yet, and tells whoever asks for more that there is none.
  ~FarmLeader();
  FarmLeader(const FarmLeader&) = delete;
  FarmLeader& operator=(const FarmLeader&) = delete;

  struct Events {
    std::function<void(std::size_t task, std::string outcome)> done;
    std::function<void(std::size_t task)> lost;  // by a rank that is gone: to be given to somebody else
  };
  // The next batch. `fingerprint`: the same on every rank that came to the same tasks.
  void begin(std::string fingerprint, Events events);
  bool give(std::size_t task);  // false where every rank that is here has enough to do
  std::vector<pollfd> waiting() const;
  void attend();                  // what has come, without waiting
  void end(std::string results);  // which every rank gets
  void stop();                    // the batch is given up, and nothing more comes

  const std::vector<std::string>& warnings() const { return warnings_; }  // of ranks that were refused or lost, each once

 private:
  struct Worker {
    int rank = 0;
    FarmConnection connection;
    std::optional<FarmMessage> asks = {};  // for tasks of a batch that has not begun
    bool ready = false;                    // for the batch under way
    std::size_t slots = 0;
    std::set<std::size_t> tasks = {};
  };
  void greet();
  void take(Worker& worker);
  void answer(Worker& worker);
  void lose(Worker& worker);
  void warn(std::string what);

  JobRanks job_;
  std::filesystem::path file_;
  std::string secret_;
  TcpListener listener_;
  Hello ours_;
  std::list<Caller> callers_;
  std::list<Worker> workers_;
  std::set<int> seen_;              // ranks that have come
  std::vector<std::string> ended_;  // results of the batches that are over
  std::string fingerprint_;
  Events events_;
  bool under_way_ = false;
  bool leaving_ = false;  // no batch follows
  std::vector<std::string> warnings_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

// Any other rank.
class FarmWorker {
 public:
  // Waits for rank 0. Throws RunError where it does not come within `patience`.
  FarmWorker(const JobRanks& job, const std::filesystem::path& folder, const std::string& command, std::chrono::seconds patience);

  // What a batch's tasks are started with, and asked for: a task under way is something that can be waited for.
  struct Tasks {
    std::size_t slots = 1;
    std::function<void(std::size_t task)> start;
    std::function<std::vector<pollfd>()> waiting;
    std::function<std::vector<std::pair<std::size_t, std::string>>()> ended;  // tasks since it was last asked, and their outcomes
    std::function<bool()> interrupted;
  };
  // Does tasks until the batch is over, and returns its results. Nothing where rank 0 has said that nothing more comes, or on an
  // interrupt; throws RunError where rank 0 is gone.
  std::optional<std::string> serve(const std::string& fingerprint, const Tasks& tasks);

 private:
  std::optional<FarmConnection> connection_;
  std::size_t batch_ = 0;
};

// Of what this process is, where it is one of several; neither where it was started alone.
struct Farm {
  std::unique_ptr<FarmLeader> leader;
  std::unique_ptr<FarmWorker> worker;
};

}  // namespace weft
