// A scenario: one cluster, one workload, ready to run. What a scenario file can say and what the rest of the code sees.
#pragma once

#include "collectives/compression/settings.hpp"
#include "collectives/engines/engines.hpp"
#include "collectives/in_network/deployment.hpp"
#include "collectives/registry/registry.hpp"
#include "kernels/base/units.hpp"
#include "kernels/dtype.hpp"
#include "models/fabric/fabric.hpp"
#include "models/fabric/fabric_spec.hpp"
#include "models/fabric/placement.hpp"
#include "models/fabric/programmable.hpp"
#include "models/faults.hpp"
#include "models/hardware.hpp"
#include "models/server/host_copies.hpp"
#include "models/server/server.hpp"
#include "models/traffic.hpp"
#include "models/training/device.hpp"
#include "sim/packet/settings.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace weft {

enum class NetworkKind { flow, packet, simgrid, ns3 };
std::string_view name_of(NetworkKind);

struct FabricChoice {
  FabricSpec spec;
  Ecmp ecmp;
  ProgrammableSwitches programmable = {};
  bool sharp = false;  // in-network aggregation for NCCL
  friend bool operator==(const FabricChoice&, const FabricChoice&) = default;
};

// An algorithm by its name in the registry, or among the in-network ones.
struct AlgorithmChoice {
  std::string name;
  AlgorithmSettings settings = {};
  AtpSettings atp = {};            // of "atp"
  SwitchmlSettings switchml = {};  // of "switchml"
  friend bool operator==(const AlgorithmChoice&, const AlgorithmChoice&) = default;
};
// Of one in which switches take part, on those of a fabric.
InNetworkSettings in_network_settings(const AlgorithmChoice&, const ProgrammableSwitches&);
// "hierarchical_ring(group=4)"
std::string label(const AlgorithmChoice&);

// One operation of a program: exactly one of `compute`, `collective` and `send` is given.
struct OperationSpec {
  std::string id = {};
  std::optional<SimTime> compute = {};
  std::optional<Collective> collective = {};
  std::optional<Bytes> size = {};                 // of the collective
  std::optional<AlgorithmChoice> algorithm = {};  // of the collective; as the row's when not given
  std::optional<Bytes> send = {};                 // a message of this size
  std::optional<Rank> from = {}, to = {};         // of the message
  int stream = 0;
  std::vector<std::string> after = {};  // ids of operations before it
  std::vector<Rank> ranks = {};         // who does it; empty: all
  friend bool operator==(const OperationSpec&, const OperationSpec&) = default;
};

struct TracedProgram;  // models/traces/traced_program.hpp

// A program that trace files hold.
struct TraceChoice {
  std::vector<std::string> files = {};
  bool lenient = false;  // what the files do not say is taken as the reader says, instead of being refused
  std::shared_ptr<const TracedProgram> program = {};
  bool given() const { return program != nullptr; }
  friend bool operator==(const TraceChoice&, const TraceChoice&) = default;
};

// A table of layers; from a file where one is named.
struct ModelChoice {
  std::string file = {};
  std::shared_ptr<const Model> table = {};
  bool given() const { return table != nullptr; }
  friend bool operator==(const ModelChoice&, const ModelChoice&) = default;
};

struct DeviceChoice {
  std::shared_ptr<const DeviceProfile> profile = {};
  friend bool operator==(const DeviceChoice&, const DeviceChoice&) = default;
};

// The kernels of a compression run on a GPU, on a core of a CPU, or, where nothing is said, where the workload trains or else on a core.
struct KernelsChoice {
  bool cpu_core = false;
  DeviceChoice device = {};
  friend bool operator==(const KernelsChoice&, const KernelsChoice&) = default;
};

struct EngineChoice {
  EngineSettings settings = {};
  friend bool operator==(const EngineChoice&, const EngineChoice&) = default;
};
// "aiacc(streams=4)"
std::string label(const EngineChoice&);

// How gradients are compressed, beside an algorithm, which then sums what all ranks sum.
struct CompressionChoice {
  CompressionSettings settings = {.name = "dense"};
  KernelsChoice kernels = {};  // what runs its kernels
  bool compresses() const { return is_sparse(settings.name); }
  friend bool operator==(const CompressionChoice&, const CompressionChoice&) = default;
};
// "gs_sgd(k=1000)"
std::string label(const CompressionChoice&);
// Each step of a rank takes 1 + spread x an exponential variable of mean 1 as long.
struct Stragglers {
  double spread = 0;
  std::vector<Rank> ranks = {};  // empty: all
  std::uint64_t seed = 1;
  friend bool operator==(const Stragglers&, const Stragglers&) = default;
};

// How finely the all-reduces of training steps are simulated.
enum class TrainingDetail {
  automatic,  // message by message, unless these are too many
  messages,
  merged,  // steps of an all-reduce that follow one another between the same ranks as one
};

// Parameters and optimizer states are written to storage every so many steps, while nothing else happens.
struct Checkpoints {
  int every = 0;          // steps; 0: never
  BitsPerSecond rate{0};  // of all GPUs together
  friend bool operator==(const Checkpoints&, const Checkpoints&) = default;
};

// What happens to a training run after some step.
struct TrainingEvent {
  enum class Kind {
    failure,  // back to the last checkpoint, which one rank reads and broadcasts; the steps since are done again
    growth,   // further ranks join and get the parameters by broadcast
  };
  Kind kind = Kind::failure;
  int after_step = 1;
  SimTime pause = {};  // until it is noticed and the processes run again
  int ranks = 0;       // growth: that join
  friend bool operator==(const TrainingEvent&, const TrainingEvent&) = default;
};

// Training steps instead of one collective.
struct TrainingChoice {
  ModelChoice model = {};
  int batch_per_gpu = 32;
  DeviceChoice device = {};
  std::vector<EngineChoice> engines = {};
  Optimizer optimizer = Optimizer::sgd_momentum;
  std::optional<DType> gradient_dtype = {};  // on the wire; as computed when not given
  bool tf32 = false;                         // layers of float32 compute in TF32
  bool nan_check = false;                    // each gradient is read once more when it is ready
  bool forward_by_layer = false;             // a layer's forward waits for its own gradients only, and updates its parameters first
  int model_parallel = 1;                    // ranks that share the layers of a model; all-reduces join those with the same part
  Stragglers stragglers = {};
  TrainingDetail detail = TrainingDetail::automatic;
  Checkpoints checkpoints = {};
  std::vector<TrainingEvent> events = {};
  bool given() const { return model.given(); }
  friend bool operator==(const TrainingChoice&, const TrainingChoice&) = default;
};

struct Workload {
  Collective collective = Collective::allreduce;
  std::vector<AlgorithmChoice> algorithms;
  std::vector<Bytes> sizes;
  DType dtype = DType::float32;
  ReduceOp op = ReduceOp::sum;
  Rank root = 0;
  int ranks = 0;  // 0 as read: all endpoints of the fabric but those of extra servers; resolved when the scenario is
  int iterations = 1;
  SimTime compute = {};                              // of all ranks, between iterations
  std::vector<OperationSpec> program = {};           // instead of one collective
  TraceChoice trace = {};                            // instead of that program
  TrainingChoice training = {};                      // then all-reduces of its gradients, all of which are the one size
  std::vector<CompressionChoice> compressions = {};  // to compare; empty: nothing is compressed
  bool has_program() const { return !program.empty() || trace.given(); }
  // How the layers of the model are computed.
  ComputeRequest compute_request() const {
    return {
        .batch = training.batch_per_gpu, .dtype = training.tf32 ? "tf32" : std::string(name_of(dtype)), .optimizer = training.optimizer};
  }
  friend bool operator==(const Workload&, const Workload&) = default;
};

// Each rank starts at a random time, uniform in [0, max].
struct StartSkew {
  SimTime max;
  std::uint64_t seed = 1;
  friend bool operator==(const StartSkew&, const StartSkew&) = default;
};

// A job beside the workload. What is not given is as the row's workload has it.
struct JobChoice {
  std::string name = {};
  std::optional<Collective> collective = {};
  std::optional<AlgorithmChoice> algorithm = {};
  std::optional<Bytes> size = {};
  std::optional<DType> dtype = {};
  int ranks = 0;                 // 0 as read: as many as the workload; resolved when the scenario is
  Placement placement = {};      // among the endpoints that the workload and the jobs before it leave free
  bool share_endpoints = false;  // among all endpoints instead, whoever is there
  SimTime start = {};
  int iterations = 1;
  SimTime compute = {};
  friend bool operator==(const JobChoice&, const JobChoice&) = default;
};

// What differs from run to run of a row that is repeated.
enum class Varied { placement, ecmp, start, traffic, packet, stragglers };

// Each row stands for so many runs, each with seeds of its own.
struct Repeat {
  int runs = 1;
  std::vector<Varied> vary = {};
  std::uint64_t seed = 1;
  friend bool operator==(const Repeat&, const Repeat&) = default;
};

struct Scenario {
  std::string name;
  std::string description;
  FabricChoice fabric;
  Server server;
  HardwareProfile hardware;
  NetworkKind network = NetworkKind::flow;
  std::optional<PacketSettings> packet;  // given, or resolved for the network "packet"
  Workload workload;
  Placement placement;
  std::optional<StartSkew> start_skew;
  std::vector<HostCopies> copies;
  std::vector<JobChoice> jobs;
  std::vector<TrafficSpec> traffic;
  Faults faults;
  std::optional<Repeat> repeat;
  std::uint64_t seed = 1;      // of every random stream that has no seed of its own
  std::string read_from = {};  // a hash of what the files hold that it names
};

}  // namespace weft
