// The events of a Kineto trace that say what a rank ran and whom it talked to.
#pragma once

#include "models/traces/json_access.hpp"
#include "models/traces/traced_program.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace weft {

// What c10d's name of an operation, or NCCL's of a kernel, says it is; nothing: no communication, such as "wait".
struct CommunicationKind {
  TracedOperation::Kind kind = TracedOperation::Kind::collective;
  TracedCollective collective = TracedCollective::allreduce;
};
std::optional<CommunicationKind> communication_named(std::string_view name);

// Bytes of an element: "Float", "c10::BFloat16", "long int"; nothing: not known.
std::optional<std::int64_t> bytes_of_type(std::string_view dtype);

// Of an all-to-all whose parts are not all of one size.
struct UnevenParts {
  std::int64_t largest = 0, number = 0;  // elements; parts that are said
  bool cut_off = false;
};
// From c10d's lists of what a rank sends and receives, "[4, 2, 1]", of which the middle may be left out ("..."); nothing: all are alike.
std::optional<UnevenParts> uneven_parts(std::string_view sent, std::string_view received);

// Of an all-to-all, with as many parts of the largest size as there are ranks; nothing: too much to be simulated.
std::optional<std::int64_t> bytes_of(const UnevenParts& parts, std::int64_t group_size, std::int64_t element_bytes);

// What is known of a communication, wherever it stands.
struct CommunicationFacts {
  std::string name = {};  // "" where it says nothing of itself
  std::optional<std::int64_t> in_elements = {}, out_elements = {}, element_bytes = {}, sequence = {}, source = {}, destination = {};
  std::optional<std::string> group_name = {};
  std::vector<Rank> group_ranks = {};
  int group_size = 0;
  std::optional<UnevenParts> uneven = {};
};

struct KinetoEvent {
  enum class Kind { kernel, copy, recorded, annotation };  // recorded: c10d's record_param_comms; annotation: "nccl:..." or "gloo:..."

  Kind kind = Kind::kernel;
  std::string name = {};
  SimTime start = {};  // since the first of the file
  SimTime lasts = {};
  std::int64_t stream = 0;  // of the GPU; of others the thread
  std::optional<std::int64_t> external_id = {}, correlation = {};
  CommunicationFacts facts = {};
  std::uint64_t number = 0;  // in the file
};

// When and on which thread a kernel was launched.
struct KinetoLaunch {
  std::int64_t thread = 0;
  SimTime at = {};  // since the first event of the file
};

struct KinetoFile {
  std::vector<KinetoEvent> events = {};
  Rank rank = TracedRank::not_said;
  int world = 0;
  std::map<std::string, std::vector<Rank>> groups = {};  // by name, where the file lists them
  std::map<std::int64_t, KinetoLaunch> launches = {};    // by correlation: of kernels of NCCL that do not say what they move
};

// Whether it is a kernel of NCCL or RCCL.
bool is_communication_kernel(const KinetoEvent&);

KinetoFile read_kineto_events(std::string_view text, const std::string& file);

}  // namespace weft
