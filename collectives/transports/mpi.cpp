#include "collectives/transports/mpi.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <climits>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#define OMPI_SKIP_MPICXX 1
#include "kernels/base/error.hpp"
#include "kernels/reduce.hpp"

#include <mpi.h>
#if defined(OPEN_MPI) && __has_include(<mpi-ext.h>)
#include <mpi-ext.h>
#endif

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int polls_before_yield = 2000;
constexpr std::chrono::milliseconds longest_grace{1000};

std::string text_of(int error) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(error, text.data(), &length);
  return {text.data(), static_cast<std::size_t>(length)};
}

// MPI's tags have fewer bits than ours. Between two ranks both sides start messages in the same order, step by step, so two
// tags that fold to one still match the right way.
int folded(Tag tag) { return static_cast<int>((tag ^ (tag >> 26) * 8191) & 0x7fff); }

// MPI counts in int. What is longer goes in parts; what cannot go in parts is counted in elements, and has its end there.
int count_of(std::int64_t elements, const char* what) {
  if (elements > INT_MAX) throw RunError(fmt::format("{} of {} elements: MPI counts to {}", what, elements, INT_MAX));
  return static_cast<int>(elements);
}

MPI_Datatype type_of(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return MPI_FLOAT;
    case DType::float64:
      return MPI_DOUBLE;
    case DType::int32:
      return MPI_INT32_T;
    case DType::int64:
      return MPI_INT64_T;
    case DType::uint8:
      return MPI_UINT8_T;
    default:
      return MPI_DATATYPE_NULL;
  }
}

// To carry elements, whatever they are.
MPI_Datatype opaque_type(DType dtype) {
  switch (size_of(dtype)) {
    case 1:
      return MPI_UINT8_T;
    case 2:
      return MPI_UINT16_T;
    case 4:
      return MPI_UINT32_T;
    default:
      return MPI_UINT64_T;
  }
}

MPI_Op op_of(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::avg:
      return MPI_SUM;
    case ReduceOp::min:
      return MPI_MIN;
    case ReduceOp::max:
      return MPI_MAX;
    case ReduceOp::prod:
      return MPI_PROD;
    case ReduceOp::band:
      return MPI_BAND;
    case ReduceOp::bor:
      return MPI_BOR;
  }
  return MPI_OP_NULL;
}

}  // namespace

namespace {

// What the ranks wait for, told to each other over a communicator of its own. One thread at a time.
class Waits {
 public:
  Waits(Rank rank, int ranks) : rank_(rank), said_by_(static_cast<std::size_t>(ranks)) { MPI_Comm_dup(MPI_COMM_WORLD, &communicator_); }

  void tell(const std::string& what) {
    if (what == told_) return;
    told_ = what;
    const std::string& text = texts_.emplace_back(what);  // until the end: nobody may take it before
    for (Rank r = 0; r < static_cast<Rank>(said_by_.size()); ++r) {
      MPI_Request request = MPI_REQUEST_NULL;
      if (r != rank_) MPI_Isend(text.data(), static_cast<int>(text.size()), MPI_CHAR, r, 0, communicator_, &request);
      if (request != MPI_REQUEST_NULL) MPI_Request_free(&request);
    }
  }
  void hear() {
    for (int there = 1; there != 0;) {
      MPI_Status status;
      MPI_Iprobe(MPI_ANY_SOURCE, 0, communicator_, &there, &status);
      if (there == 0) break;
      int size = 0;
      MPI_Get_count(&status, MPI_CHAR, &size);
      std::string& said = said_by_[static_cast<std::size_t>(status.MPI_SOURCE)];
      said.resize(static_cast<std::size_t>(size));
      MPI_Recv(said.data(), size, MPI_CHAR, status.MPI_SOURCE, 0, communicator_, MPI_STATUS_IGNORE);
    }
  }
  // Hears for a while longer where somebody has not said anything: he may have begun to wait a little later.
  std::string others(std::chrono::milliseconds grace) {
    const auto everybody_has_said = [&] {
      for (std::size_t r = 0; r < said_by_.size(); ++r)
        if (static_cast<Rank>(r) != rank_ && said_by_[r].empty()) return false;
      return true;
    };
    for (const auto deadline = Clock::now() + grace; hear(), !everybody_has_said() && Clock::now() < deadline;) std::this_thread::yield();
    std::string all;
    for (std::size_t r = 0; r < said_by_.size(); ++r) {
      if (static_cast<Rank>(r) == rank_) continue;
      all += said_by_[r].empty() ? fmt::format("\nrank {} does not say that it waits: it has not come so far, or hangs", r)
                                 : fmt::format("\nrank {} waits for {}", r, said_by_[r]);
    }
    return all;
  }

 private:
  const Rank rank_;
  MPI_Comm communicator_ = MPI_COMM_NULL;
  std::string told_;
  std::deque<std::string> texts_;
  std::vector<std::string> said_by_;
};

}  // namespace

struct MpiWorld::Shared {
  MpiSettings settings;
  Rank rank = 0;
  int ranks = 0;
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  std::atomic<bool> failed = false;
  std::mutex mutex;
  std::string reason;
  std::unique_ptr<Waits> waits;

  void tell_waiting(const std::string& what) {
    const std::lock_guard lock(mutex);
    waits->tell(what);
  }
  std::string others() {
    const std::lock_guard lock(mutex);
    return waits->others(std::min<std::chrono::milliseconds>(settings.patience / 4, longest_grace));
  }
};

class MpiWorld::Endpoint final : public Transport {
 public:
  explicit Endpoint(Shared& shared) : shared_(shared) {
    MPI_Comm_dup(MPI_COMM_WORLD, &communicator_);
    MPI_Comm_set_errhandler(communicator_, MPI_ERRORS_RETURN);
  }

  void receive(Rank from, Tag tag, ByteSpan into) override {
    for_parts(into, [&](ByteSpan part) {
      begin({true, from, tag, part.size()});
      expect(MPI_Irecv(part.data(), static_cast<int>(part.size()), MPI_BYTE, from, folded(tag), communicator_, &requests_.back()));
    });
  }
  void send(Rank to, Tag tag, ByteView bytes) override {
    for_parts(bytes, [&](ByteView part) {
      begin({false, to, tag, part.size()});
      expect(MPI_Isend(part.data(), static_cast<int>(part.size()), MPI_BYTE, to, folded(tag), communicator_, &requests_.back()));
    });
  }

  void wait() override {
    statuses_.resize(requests_.size());
    completed_.resize(requests_.size());
    std::size_t open = requests_.size();
    auto last_progress = Clock::now();
    for (int polls = 1; open > 0; ++polls) {
      if (shared_.failed) throw RunError(shared_.reason);
      int done = 0;
      const int error = MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &done, completed_.data(), statuses_.data());
      for (int i = 0; i < done; ++i)
        examine(static_cast<std::size_t>(completed_[static_cast<std::size_t>(i)]), statuses_[static_cast<std::size_t>(i)], error);
      if (error != MPI_ERR_IN_STATUS) expect(error);
      open -= static_cast<std::size_t>(done);
      if (done > 0)
        last_progress = Clock::now(), polls = 0, go_on();
      else if (polls % polls_before_yield == 0)
        give_way(last_progress);
    }
    requests_.clear();
    messages_.clear();
  }

  void reduce(DType dtype, ReduceOp op, ByteSpan into, ByteView from) override {
    weft::reduce(dtype, op, into.data(), from.data(), into.size() / size_of(dtype));
  }

  MPI_Comm communicator() const { return communicator_; }
  void expect(int error) const {
    if (error != MPI_SUCCESS) throw RunError(fmt::format("rank {}: MPI: {}", shared_.rank, text_of(error)));
  }

 private:
  struct Message {
    bool receives;
    Rank peer;
    Tag tag;
    std::size_t size;
  };

  void begin(Message m) {
    messages_.push_back(m);
    requests_.push_back(MPI_REQUEST_NULL);
  }

  // In order, as MPI keeps messages of one tag; an empty message is a part too.
  template <class Span, class Do>
  void for_parts(Span bytes, Do act) const {
    const std::size_t most = shared_.settings.largest_part_bytes;
    do {
      act(bytes.first(std::min(bytes.size(), most)));
      bytes = bytes.subspan(std::min(bytes.size(), most));
    } while (!bytes.empty());
  }

  void examine(std::size_t index, const MPI_Status& status, int overall) {
    const Message m = messages_[index];
    if (overall == MPI_ERR_IN_STATUS && status.MPI_ERROR != MPI_SUCCESS)
      throw RunError(fmt::format("rank {} {} rank {}, {} bytes ({}): MPI: {}", shared_.rank, m.receives ? "receives from" : "sends to",
                                 m.peer, m.size, to_string(name_of(m.tag)), text_of(status.MPI_ERROR)));
    int got = 0;
    if (!m.receives || MPI_Get_count(&status, MPI_BYTE, &got) != MPI_SUCCESS || static_cast<std::size_t>(got) == m.size) return;
    throw RunError(fmt::format("rank {} sent {} bytes to rank {} which expects {} ({})", m.peer, got, shared_.rank, m.size,
                               to_string(name_of(m.tag))));
  }

  void give_way(Clock::time_point last_progress) {
    std::this_thread::yield();
    const auto waited = Clock::now() - last_progress;
    if (waited > std::chrono::milliseconds(1) && shared_.settings.rest.count() > 0) std::this_thread::sleep_for(shared_.settings.rest);
    if (waited < shared_.settings.patience / 2) return;
    if (!std::exchange(told_, true)) shared_.tell_waiting(what_is_missing());
    if (waited < shared_.settings.patience) return;
    throw RunError(fmt::format("no progress for {} ms\nrank {} waits for {}{}", shared_.settings.patience.count(), shared_.rank,
                               what_is_missing(), shared_.others()));
  }
  void go_on() {
    if (std::exchange(told_, false)) shared_.tell_waiting("");
  }
  std::string what_is_missing() const {
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      const Message& m = messages_[i];
      if (requests_[i] == MPI_REQUEST_NULL) continue;
      return fmt::format(
          "{} ({})",
          m.receives ? fmt::format("{} bytes from rank {}", m.size, m.peer) : fmt::format("rank {} to take {} bytes", m.peer, m.size),
          to_string(name_of(m.tag)));
    }
    return {};
  }

  Shared& shared_;
  MPI_Comm communicator_ = MPI_COMM_NULL;
  std::vector<Message> messages_;
  std::vector<MPI_Request> requests_;
  std::vector<MPI_Status> statuses_;
  std::vector<int> completed_;
  bool told_ = false;  // the others, that this channel waits
};

MpiWorld::MpiWorld(MpiSettings settings) : shared_(std::make_unique<Shared>()) {
  const int wanted = settings.channels > 1 ? MPI_THREAD_MULTIPLE : MPI_THREAD_FUNNELED;
  int given = 0;
  MPI_Init_thread(nullptr, nullptr, wanted, &given);
  if (given < wanted) throw RunError("this MPI does not let several threads call it, which several channels need");
  shared_->settings = settings;
  MPI_Comm_rank(MPI_COMM_WORLD, &shared_->rank);
  MPI_Comm_size(MPI_COMM_WORLD, &shared_->ranks);
  shared_->waits = std::make_unique<Waits>(shared_->rank, shared_->ranks);
  for (int c = 0; c < settings.channels; ++c) shared_->endpoints.push_back(std::make_unique<Endpoint>(*shared_));
}

MpiWorld::~MpiWorld() {
  if (!shared_->failed) MPI_Finalize();
}

Rank MpiWorld::rank() const { return shared_->rank; }
int MpiWorld::ranks() const { return shared_->ranks; }

std::string MpiWorld::library() const {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  const std::string all(text.data(), static_cast<std::size_t>(length));
  return all.substr(0, all.find_first_of(",\n"));
}

Transport& MpiWorld::at(int channel) { return *shared_->endpoints[static_cast<std::size_t>(channel)]; }

void MpiWorld::fail(const std::string& reason) {
  const std::lock_guard lock(shared_->mutex);
  if (shared_->failed) return;
  shared_->reason = reason;
  shared_->failed = true;
}

void MpiWorld::abort() {
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::_Exit(1);
}

void MpiWorld::tell_waiting(const std::string& what) { shared_->tell_waiting(what); }
std::string MpiWorld::others() { return shared_->others(); }

bool MpiWorld::takes_device_memory() {
#if defined(MPIX_CUDA_AWARE_SUPPORT)  // Open MPI
  return MPIX_Query_cuda_support() == 1;
#elif defined(MPIX_GPU_SUPPORT_CUDA)  // MPICH
  int supported = 0;
  return MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &supported) == MPI_SUCCESS && supported != 0;
#else
  return false;
#endif
}

bool MpiWorld::has(Collective collective, DType dtype, ReduceOp) {
  const bool reduces = collective == Collective::allreduce || collective == Collective::reduce;
  return collective != Collective::reduce_scatter && (!reduces || type_of(dtype) != MPI_DATATYPE_NULL);
}

void MpiWorld::run(const Schedule& s, DType dtype, ReduceOp op, std::byte* data, std::int64_t elements) {
  const Endpoint& endpoint = *shared_->endpoints[0];
  const MPI_Comm communicator = endpoint.communicator();
  const auto unit = static_cast<std::int64_t>(size_of(dtype));
  // Element by element the same, so in parts too.
  const auto for_parts = [&](auto act) {
    const std::int64_t most = std::max<std::int64_t>(static_cast<std::int64_t>(shared_->settings.largest_part_bytes) / unit, 1);
    std::int64_t done = 0;
    do {
      const std::int64_t part = std::min(most, elements - done);
      endpoint.expect(act(data + done * unit, static_cast<int>(part)));
      done += part;
    } while (done < elements);
  };
  switch (s.collective) {
    case Collective::allreduce:
      for_parts([&](std::byte* at, int n) { return MPI_Allreduce(MPI_IN_PLACE, at, n, type_of(dtype), op_of(op), communicator); });
      break;
    case Collective::reduce:
      for_parts([&](std::byte* at, int n) {
        return MPI_Reduce(shared_->rank == s.root ? MPI_IN_PLACE : at, at, n, type_of(dtype), op_of(op), s.root, communicator);
      });
      break;
    case Collective::broadcast:
      for_parts([&](std::byte* at, int n) { return MPI_Bcast(at, n, opaque_type(dtype), s.root, communicator); });
      break;
    case Collective::allgather: {
      std::vector<int> sizes, places;
      const ChunkLayout layout{.elements = elements, .chunks = s.ranks};
      for (Rank r = 0; r < s.ranks; ++r) {
        sizes.push_back(count_of(layout.size(r, 1), "MPI's all-gather of a block"));
        places.push_back(count_of(layout.begin(r), "MPI's all-gather"));
      }
      endpoint.expect(MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_BYTE, data, sizes.data(), places.data(), opaque_type(dtype), communicator));
      break;
    }
    case Collective::alltoall: {
      const int block = count_of(elements / s.ranks, "MPI's all-to-all of a block");
      endpoint.expect(MPI_Alltoall(data, block, opaque_type(dtype), data + elements * unit, block, opaque_type(dtype), communicator));
      break;
    }
    case Collective::barrier:
      endpoint.expect(MPI_Barrier(communicator));
      break;
    case Collective::reduce_scatter:
      check(false, "has() says that reduce_scatter is not run");
  }
}

}  // namespace weft
