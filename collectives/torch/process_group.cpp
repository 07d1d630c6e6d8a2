#include "collectives/torch/process_group.hpp"

#include "collectives/torch/tensors.hpp"
#include "kernels/base/error.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>
#include <optional>
#include <set>

#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/ivalue.h>
#include <pybind11/pybind11.h>
#include <unistd.h>

namespace weft {
namespace {

class C10dStore final : public KeyStore {
 public:
  explicit C10dStore(c10::intrusive_ptr<c10d::Store> store) : store_(std::move(store)) {}
  void set(const std::string& key, const std::string& value) override { store_->set(key, {value.begin(), value.end()}); }
  std::optional<std::string> get(const std::string& key) override {
    if (!store_->check({key})) return std::nullopt;
    const auto value = store_->get(key);
    return std::string(value.begin(), value.end());
  }

 private:
  c10::intrusive_ptr<c10d::Store> store_;
};

class StartedWork final : public c10d::Work {
 public:
  StartedWork(int rank, c10d::OpType type, const char* title, const std::vector<at::Tensor>& tensors, c10::IValue result)
      : Work(rank, type, title, tensors),
        result_(std::move(result)),
        future_(c10::make_intrusive<c10::ivalue::Future>(result_.type())),
        tensors_(tensors) {}

  void end(std::exception_ptr error) {
    if (error)
      future_->setError(error);
    else
      future_->markCompleted(result_);
    finish(error);
  }
  c10::intrusive_ptr<c10::ivalue::Future> getFuture() override { return future_; }
  std::vector<at::Tensor> result() override { return tensors_; }

 private:
  const c10::IValue result_;
  const c10::intrusive_ptr<c10::ivalue::Future> future_;
  const std::vector<at::Tensor> tensors_;  // they live as long as the work
};

std::int64_t now_ns() { return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds{1}; }

struct Recorder {
  std::mutex mutex;
  bool on = false;
  std::vector<RecordedCollective> recorded;
};
Recorder& recorder() {
  static Recorder r;
  return r;
}

// The groups that atexit has to end. A forked child has them too, but none of their threads.
struct Live {
  std::mutex mutex;
  std::set<ProcessGroupWeft*> groups;
  pid_t process = ::getpid();
};
Live& live() {
  static Live l;
  return l;
}

void copy_back(const at::Tensor& into, const at::Tensor& from) {
  if (!into.is_same(from)) into.copy_(from);
}

void copy_bytes(ByteSpan into, ByteView from) {
  if (!into.empty() && into.data() != from.data()) std::memcpy(into.data(), from.data(), into.size());
}

// Blocks of one size, side by side.
at::Tensor room_for(std::size_t blocks, const at::Tensor& like) {
  return at::empty({static_cast<std::int64_t>(blocks) * like.numel()}, like.options().requires_grad(false));
}

CollectiveCall moves(Collective c, std::size_t bytes, Rank root = 0) {
  return {.collective = c, .dtype = DType::uint8, .root = root, .elements = static_cast<std::int64_t>(bytes)};
}

}  // namespace

void record_collectives(bool on) {
  const std::lock_guard lock(recorder().mutex);
  recorder().on = on;
  if (!on) recorder().recorded.clear();
}

std::vector<RecordedCollective> take_recorded_collectives() {
  const std::lock_guard lock(recorder().mutex);
  return std::exchange(recorder().recorded, {});
}

ProcessGroupWeft::ProcessGroupWeft(c10::intrusive_ptr<c10d::Store> store, ProcessGroupSettings settings)
    : TorchBackend(settings.group.rank, settings.group.ranks()),
      settings_(std::move(settings)),
      store_(std::make_unique<C10dStore>(std::move(store))),
      communicator_(std::make_unique<Communicator>(*store_, settings_.group, settings_.algorithm)),
      links_(std::make_unique<PeerLinks>(*store_, settings_.group)),
      thread_(std::make_unique<JobThread>()) {
  const std::lock_guard lock(live().mutex);
  live().groups.insert(this);
}

ProcessGroupWeft::~ProcessGroupWeft() {
  {
    const std::lock_guard lock(live().mutex);
    live().groups.erase(this);
  }
  // Where Python drops the last reference it holds the GIL, and the threads that are joined here need it to drop tensors.
  std::optional<pybind11::gil_scoped_release> others_may_run;
  if (Py_IsInitialized() && PyGILState_Check()) others_may_run.emplace();
  finish();
}

void ProcessGroupWeft::finish() {
  links_.reset();
  thread_.reset();
  communicator_.reset();
}

void ProcessGroupWeft::finish_all() {
  if (live().process != ::getpid()) return;
  std::set<ProcessGroupWeft*> groups;
  {
    const std::lock_guard lock(live().mutex);
    groups.swap(live().groups);
  }
  constexpr std::chrono::seconds patience{5};
  for (ProcessGroupWeft* g : groups) {
    if (g->links_) g->links_->end_within(patience);
    if (g->thread_ && !g->thread_->idle_within(patience))
      g->communicator_->fail(g->settings_.group.names[static_cast<std::size_t>(g->getRank())] +
                             " ends with collectives that were not finished");
    g->finish();
  }
}

ProcessGroupWeft::Started ProcessGroupWeft::start(c10d::OpType type, const char* title, const Tensors& tensors, c10::IValue result,
                                                  Job job) {
  if (!thread_) refuse(title + 5, "the group has been destroyed");
  auto work = c10::make_intrusive<StartedWork>(getRank(), type, title, tensors, std::move(result));
  thread_->add([this, work, job = std::move(job)] {
    try {
      if (!ended_.empty()) throw RunError("the group ended before: " + ended_);
      const at::AutoDispatchBelowADInplaceOrView no_grad;
      job(*communicator_);
      work->end(nullptr);
    } catch (const std::exception& e) {
      if (ended_.empty()) communicator_->fail(ended_ = e.what());
      work->end(std::make_exception_ptr(std::runtime_error(c10::str("weft: ", e.what()))));
    }
  });
  return work;
}

void ProcessGroupWeft::run(Communicator& c, const CollectiveCall& o, std::byte* data) {
  const std::int64_t begin = now_ns();
  c.run(o, data);
  Recorder& r = recorder();
  const std::lock_guard lock(r.mutex);
  if (!r.on) return;
  const std::int64_t bytes = o.elements * static_cast<std::int64_t>(size_of(o.dtype));
  r.recorded.push_back({settings_.id, std::string(name_of(o.collective)), bytes, c.algorithm(o.collective, bytes), begin, now_ns()});
}

ProcessGroupWeft::Started ProcessGroupWeft::compressed_allreduce(std::shared_ptr<Compressor> compressor, const at::Tensor& gradient) {
  const char* const call = "compressed all_reduce";
  expect_carried(call, "the gradient", gradient);
  const std::int64_t elements = compressor->plan().elements;
  if (gradient.scalar_type() != at::kFloat || !gradient.is_contiguous() || gradient.numel() != elements)
    refuse(call, c10::str("the gradient has ", gradient.numel(), " elements of ", gradient.scalar_type(), ", must be contiguous and have ",
                          elements, " of Float"));
  return start(c10d::OpType::ALLREDUCE, "weft:compressed_all_reduce", {gradient}, Tensors{gradient},
               [compressor, gradient](Communicator& c) {
                 compressor->all_reduce({gradient.data_ptr<float>(), static_cast<std::size_t>(gradient.numel())}, c.transport());
               });
}

ProcessGroupWeft::Started ProcessGroupWeft::set_k(std::shared_ptr<Compressor> compressor, Amount k) {
  return start(c10d::OpType::UNKNOWN, "weft:set_k", {}, Tensors{}, [compressor, k](Communicator&) { compressor->set_k(k); });
}

ProcessGroupWeft::Started ProcessGroupWeft::broadcast(Tensors& tensors, const c10d::BroadcastOptions& o) {
  const at::Tensor t = only("broadcast", tensors);
  expect_carried("broadcast", "the tensor", t);
  return start(c10d::OpType::BROADCAST, "weft:broadcast", tensors, tensors,
               [this, t, root = static_cast<Rank>(o.rootRank)](Communicator& c) {
                 const at::Tensor flat = t.contiguous();
                 run(c, moves(Collective::broadcast, flat.nbytes(), root), bytes_of(flat).data());
                 copy_back(t, flat);
               });
}

ProcessGroupWeft::Started ProcessGroupWeft::allreduce(Tensors& tensors, const c10d::AllreduceOptions& o) {
  only("all_reduce", tensors);
  c10d::AllreduceCoalescedOptions each;
  each.reduceOp = o.reduceOp;
  return allreduce_coalesced(tensors, each);
}

ProcessGroupWeft::Started ProcessGroupWeft::allreduce_coalesced(Tensors& tensors, const c10d::AllreduceCoalescedOptions& o) {
  std::vector<CollectiveCall> operations;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    expect_carried("all_reduce", c10::str("tensor ", i), tensors[i]);
    const DType dtype = reduced_dtype("all_reduce", tensors[i]);
    operations.push_back({.dtype = dtype, .op = reduce_op("all_reduce", o.reduceOp, dtype), .elements = tensors[i].numel()});
  }
  return start(c10d::OpType::ALLREDUCE, "weft:all_reduce", tensors, tensors, [this, tensors, operations](Communicator& c) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const at::Tensor flat = tensors[i].contiguous();
      run(c, operations[i], bytes_of(flat).data());
      copy_back(tensors[i], flat);
    }
  });
}

ProcessGroupWeft::Started ProcessGroupWeft::reduce(Tensors& tensors, const c10d::ReduceOptions& o) {
  const at::Tensor t = only("reduce", tensors);
  expect_carried("reduce", "the tensor", t);
  const DType dtype = reduced_dtype("reduce", t);
  const CollectiveCall operation{.collective = Collective::reduce,
                                 .dtype = dtype,
                                 .op = reduce_op("reduce", o.reduceOp, dtype),
                                 .root = static_cast<Rank>(o.rootRank),
                                 .elements = t.numel()};
  return start(c10d::OpType::REDUCE, "weft:reduce", tensors, tensors, [this, t, operation](Communicator& c) {
    // Sums pass through the memory of every rank; only the root's tensor may change.
    const at::Tensor flat = c.rank() == operation.root ? t.contiguous() : t.clone(at::MemoryFormat::Contiguous);
    run(c, operation, bytes_of(flat).data());
    if (c.rank() == operation.root) copy_back(t, flat);
  });
}

ProcessGroupWeft::Started ProcessGroupWeft::allgather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::AllgatherOptions&) {
  const at::Tensor in = only("all_gather", inputs);
  const Tensors out = only("all_gather", outputs);
  expect_carried("all_gather", "the input", in);
  expect_blocks("all_gather", out, in, getSize(), true);
  return start(c10d::OpType::ALLGATHER, "weft:all_gather", out, outputs, [this, in, out](Communicator& c) {
    const at::Tensor all = room_for(out.size(), in);
    const auto blocks = all.chunk(c.ranks());
    const std::size_t block = in.nbytes();
    copy_bytes(bytes_of(all).subspan(static_cast<std::size_t>(c.rank()) * block, block), bytes_of(in.contiguous()));
    run(c, moves(Collective::allgather, all.nbytes()), bytes_of(all).data());
    for (std::size_t r = 0; r < out.size(); ++r)
      if (block > 0) out[r].copy_(blocks[r].view_as(out[r]));
  });
}

ProcessGroupWeft::Started ProcessGroupWeft::_allgather_base(at::Tensor& output, at::Tensor& input, const c10d::AllgatherOptions&) {
  const char* const call = "all_gather_into_tensor";
  expect_carried(call, "the input", input);
  expect_carried(call, "the output", output);
  if (output.scalar_type() != input.scalar_type() || output.numel() != input.numel() * getSize())
    refuse(call, c10::str("the output has ", output.numel(), " elements of ", output.scalar_type(), ", must have ",
                          input.numel() * getSize(), " of ", input.scalar_type()));
  return start(c10d::OpType::_ALLGATHER_BASE, "weft:all_gather_into_tensor", {output}, Tensors{output},
               [this, input, output](Communicator& c) {
                 const at::Tensor all = output.contiguous();
                 const std::size_t block = input.nbytes();
                 copy_bytes(bytes_of(all).subspan(static_cast<std::size_t>(c.rank()) * block, block), bytes_of(input.contiguous()));
                 run(c, moves(Collective::allgather, all.nbytes()), bytes_of(all).data());
                 copy_back(output, all);
               });
}

ProcessGroupWeft::Started ProcessGroupWeft::reduce_scatter(Tensors& outputs, std::vector<Tensors>& inputs,
                                                           const c10d::ReduceScatterOptions& o) {
  const at::Tensor out = only("reduce_scatter", outputs);
  const Tensors in = only("reduce_scatter", inputs);
  expect_carried("reduce_scatter", "the output", out);
  expect_blocks("reduce_scatter", in, out, getSize(), true);
  at::Tensor all = room_for(in.size(), out);
  for (std::size_t r = 0; r < in.size(); ++r)
    copy_bytes(bytes_of(all).subspan(r * out.nbytes(), out.nbytes()), bytes_of(in[r].contiguous()));
  at::Tensor output = out;
  return _reduce_scatter_base(output, all, o);
}

ProcessGroupWeft::Started ProcessGroupWeft::_reduce_scatter_base(at::Tensor& output, at::Tensor& input,
                                                                 const c10d::ReduceScatterOptions& o) {
  const char* const call = "reduce_scatter_tensor";
  expect_carried(call, "the input", input);
  expect_carried(call, "the output", output);
  if (output.scalar_type() != input.scalar_type() || output.numel() * getSize() != input.numel())
    refuse(call, c10::str("the input has ", input.numel(), " elements of ", input.scalar_type(), ", must have ", output.numel() * getSize(),
                          " of ", output.scalar_type()));
  const DType dtype = reduced_dtype(call, input);
  const CollectiveCall operation{
      .collective = Collective::reduce_scatter, .dtype = dtype, .op = reduce_op(call, o.reduceOp, dtype), .elements = input.numel()};
  return start(c10d::OpType::_REDUCE_SCATTER_BASE, "weft:reduce_scatter_tensor", {output}, Tensors{output},
               [this, input, output, operation](Communicator& c) {
                 const at::Tensor all = input.clone(at::MemoryFormat::Contiguous), out = output.contiguous();
                 run(c, operation, bytes_of(all).data());
                 copy_bytes(bytes_of(out), bytes_of(all).subspan(static_cast<std::size_t>(c.rank()) * out.nbytes(), out.nbytes()));
                 copy_back(output, out);
               });
}

// A block to and from every rank, of any sizes.
ProcessGroupWeft::Started ProcessGroupWeft::exchange_blocks(c10d::OpType type, const char* title, const Tensors& outputs,
                                                            const Tensors& inputs, c10::IValue result) {
  return start(type, title, outputs, std::move(result), [title, outputs, inputs](Communicator& c) {
    std::vector<PeerBytes> sends, receives;
    Tensors in, out;
    for (int k = 0; k < c.ranks(); ++k) {
      const Rank to = mod(c.rank() + k, c.ranks()), from = mod(c.rank() - k, c.ranks());
      in.push_back(static_cast<std::size_t>(to) < inputs.size() ? inputs[static_cast<std::size_t>(to)].contiguous() : at::Tensor());
      out.push_back(static_cast<std::size_t>(from) < outputs.size() ? outputs[static_cast<std::size_t>(from)].contiguous() : at::Tensor());
      if (k > 0 && in.back().defined()) sends.push_back({to, bytes_of(in.back())});
      if (k > 0 && out.back().defined()) receives.push_back({from, bytes_of(out.back())});
    }
    if (in.front().defined() && out.front().defined()) copy_bytes(bytes_of(out.front()), bytes_of(in.front()));
    c.exchange(title + 5, sends, receives);
    for (int k = 0; k < c.ranks(); ++k)
      if (out[static_cast<std::size_t>(k)].defined())
        copy_back(outputs[static_cast<std::size_t>(mod(c.rank() - k, c.ranks()))], out[static_cast<std::size_t>(k)]);
  });
}

ProcessGroupWeft::Started ProcessGroupWeft::gather(std::vector<Tensors>& outputs, Tensors& inputs, const c10d::GatherOptions& o) {
  const at::Tensor in = only("gather", inputs);
  expect_carried("gather", "the input", in);
  Tensors out(static_cast<std::size_t>(getSize())), sent(static_cast<std::size_t>(getSize()));
  if (o.rootRank == getRank()) {
    out = only("gather", outputs);
    expect_blocks("gather", out, in, getSize(), true);
  }
  sent[static_cast<std::size_t>(o.rootRank)] = in;
  return exchange_blocks(c10d::OpType::GATHER, "weft:gather", out, sent, outputs);
}

ProcessGroupWeft::Started ProcessGroupWeft::scatter(Tensors& outputs, std::vector<Tensors>& inputs, const c10d::ScatterOptions& o) {
  const at::Tensor out = only("scatter", outputs);
  expect_carried("scatter", "the output", out);
  Tensors in(static_cast<std::size_t>(getSize())), taken(static_cast<std::size_t>(getSize()));
  if (o.rootRank == getRank()) {
    in = only("scatter", inputs);
    expect_blocks("scatter", in, out, getSize(), true);
  }
  taken[static_cast<std::size_t>(o.rootRank)] = out;
  return exchange_blocks(c10d::OpType::SCATTER, "weft:scatter", taken, in, outputs);
}

ProcessGroupWeft::Started ProcessGroupWeft::alltoall_base(at::Tensor& output, at::Tensor& input, std::vector<std::int64_t>& output_splits,
                                                          std::vector<std::int64_t>& input_splits, const c10d::AllToAllOptions&) {
  const char* const call = "all_to_all_single";
  const auto cut = [&](const at::Tensor& t, const char* which, std::vector<std::int64_t>& splits) {
    expect_carried(call, which, t);
    if (!t.is_contiguous()) refuse(call, c10::str(which, " must be contiguous"));
    if (splits.empty() && (t.dim() == 0 || t.size(0) % getSize() != 0))
      refuse(call, c10::str(which, " must be divisible by the ", getSize(), " ranks in its first dimension, got ", t.sizes()));
    if (splits.empty()) splits.assign(static_cast<std::size_t>(getSize()), t.size(0) / getSize());
    std::int64_t sum = 0;
    for (const std::int64_t s : splits) sum += s;
    if (splits.size() != static_cast<std::size_t>(getSize()) || sum != t.size(0))
      refuse(call, c10::str(which, " has ", t.size(0), " rows, its ", splits.size(), " splits have ", sum));
    return t.split_with_sizes(splits, 0);
  };
  if (output.scalar_type() != input.scalar_type())
    refuse(call, c10::str("the output has the type ", output.scalar_type(), ", must have the input's, ", input.scalar_type()));
  std::vector<std::int64_t> out_rows = output_splits, in_rows = input_splits;
  const Tensors out = cut(output, "the output", out_rows), in = cut(input, "the input", in_rows);
  const bool even = output_splits.empty() && input_splits.empty() && output.numel() == input.numel();
  if (!even) return exchange_blocks(c10d::OpType::ALLTOALL_BASE, "weft:all_to_all_single", out, in, Tensors{output});
  return start(c10d::OpType::ALLTOALL_BASE, "weft:all_to_all_single", {output}, Tensors{output}, [this, input, output](Communicator& c) {
    const at::Tensor both = room_for(2, input);
    const std::size_t half = input.nbytes();
    copy_bytes(bytes_of(both).first(half), bytes_of(input));
    run(c, moves(Collective::alltoall, half), bytes_of(both).data());
    copy_bytes(bytes_of(output), bytes_of(both).last(half));
  });
}

ProcessGroupWeft::Started ProcessGroupWeft::alltoall(Tensors& outputs, Tensors& inputs, const c10d::AllToAllOptions&) {
  if (outputs.empty()) refuse("all_to_all", c10::str("must be given a tensor for each of the ", getSize(), " ranks, got 0"));
  expect_carried("all_to_all", "tensor 0", outputs.front());
  expect_blocks("all_to_all", inputs, outputs.front(), getSize(), false);
  expect_blocks("all_to_all", outputs, outputs.front(), getSize(), false);
  return exchange_blocks(c10d::OpType::ALLTOALL, "weft:all_to_all", outputs, inputs, outputs);
}

ProcessGroupWeft::Started ProcessGroupWeft::send(Tensors& tensors, int to, int tag) {
  const at::Tensor t = only("send", tensors);
  expect_carried("send", "the tensor", t);
  if (!links_) refuse("send", "the group has been destroyed");
  auto work = c10::make_intrusive<StartedWork>(getRank(), c10d::OpType::SEND, "weft:send", tensors, tensors);
  const at::Tensor flat = t.contiguous();
  links_->send(to, static_cast<std::uint32_t>(tag), bytes_of(flat), [work, flat](std::exception_ptr error) { work->end(error); });
  return work;
}

ProcessGroupWeft::Started ProcessGroupWeft::recv(Tensors& tensors, int from, int tag) {
  const at::Tensor t = only("recv", tensors);
  expect_carried("recv", "the tensor", t);
  if (!t.is_contiguous()) refuse("recv", "the tensor must be contiguous");
  if (!links_) refuse("recv", "the group has been destroyed");
  auto work = c10::make_intrusive<StartedWork>(getRank(), c10d::OpType::RECV, "weft:recv", tensors, tensors);
  links_->receive(from, static_cast<std::uint32_t>(tag), bytes_of(t), [work](std::exception_ptr error) { work->end(error); });
  return work;
}

ProcessGroupWeft::Started ProcessGroupWeft::barrier(const c10d::BarrierOptions&) {
  return start(c10d::OpType::BARRIER, "weft:barrier", {}, Tensors{},
               [this](Communicator& c) { run(c, moves(Collective::barrier, 0), nullptr); });
}

}  // namespace weft
