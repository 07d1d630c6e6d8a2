#include "models/traces/kineto.hpp"

#include "models/traces/builder.hpp"
#include "models/traces/kineto_events.hpp"

#include <queue>
#include <set>
#include <unordered_map>

namespace weft {
namespace {

using Kind = TracedOperation::Kind;

class Timeline {
 public:
  Timeline(KinetoFile read, const std::string& file) : read_(std::move(read)), builder_(file, "event") {}

  TraceFile make() {
    for (const KinetoEvent& e : read_.events)
      if (e.external_id && (e.kind == KinetoEvent::Kind::recorded || e.kind == KinetoEvent::Kind::annotation) && e.facts.in_elements)
        by_external_id_.try_emplace(*e.external_id, &e.facts);
    std::vector<KinetoEvent> events = what_ran();
    std::ranges::stable_sort(events, {}, &KinetoEvent::start);
    if (!events.empty()) began_ = events.front().start;
    number_sequences(events);
    for (const KinetoEvent& e : events) add(e);
    TraceFile out{.format = "Kineto", .world = read_.world};
    builder_.rank().rank = read_.rank;
    out.ranks.push_back(builder_.finish(missing_));
    missing_.move_to(out.missing);
    if (out.ranks.front().operations.empty())
      throw InputError(fmt::format("{}: holds no kernel, no copy and no collective", out.ranks.front().file));
    return out;
  }

 private:
  // Where a GPU communicates, what it ran; else what threads did of collectives.
  std::vector<KinetoEvent> what_ran() {
    std::vector<KinetoEvent> on_gpu, recorded, annotated;
    bool communicates = false;
    for (const KinetoEvent& e : read_.events) {
      communicates |= is_communication_kernel(e);
      if (e.kind == KinetoEvent::Kind::kernel || e.kind == KinetoEvent::Kind::copy) on_gpu.push_back(e);
      if (e.kind == KinetoEvent::Kind::recorded && communication_named(e.facts.name)) recorded.push_back(e);
      if (e.kind == KinetoEvent::Kind::annotation && e.name.starts_with("gloo:")) annotated.push_back(e);
    }
    if (communicates || (recorded.empty() && annotated.empty())) return on_gpu;
    std::vector<KinetoEvent>& collectives = annotated.empty() ? recorded : annotated;
    if (annotated.size() == recorded.size())  // the one has the times, the other the sizes
      for (std::size_t i = 0; i < annotated.size(); ++i) annotated[i].facts = recorded[i].facts;
    for (KinetoEvent& e : collectives)
      if (e.facts.name.empty()) e.facts.name = e.name.substr(e.name.find(':') + 1);
    on_gpu.insert(on_gpu.end(), collectives.begin(), collectives.end());
    return on_gpu;
  }

  // A communication's number in its group counts only where each of the group has one of its own.
  void number_sequences(const std::vector<KinetoEvent>& events) {
    std::set<std::pair<std::string, std::int64_t>> seen;
    for (const KinetoEvent& e : events) {
      if (!is_communication_kernel(e)) continue;
      if (!e.facts.sequence || *e.facts.sequence < 0 || *e.facts.sequence > std::numeric_limits<int>::max() ||
          !seen.emplace(e.facts.group_name.value_or(""), *e.facts.sequence).second)
        numbered_ = false;
    }
  }

  TracedGroup group_of(const CommunicationFacts& facts) const {
    const std::string name = facts.group_name.value_or("");
    if (const auto listed = read_.groups.find(name); listed != read_.groups.end()) return {.name = name, .ranks = listed->second};
    if (!facts.group_ranks.empty() && (facts.group_size == 0 || std::cmp_equal(facts.group_ranks.size(), facts.group_size)))
      return {.name = name, .ranks = facts.group_ranks};
    if (name.empty() || (facts.group_size > 0 && facts.group_size == read_.world)) return {.name = name, .all = true};
    return {.name = name, .size = facts.group_size};
  }

  // What the kernel says itself, or what launched it says.
  CommunicationFacts facts_of(const KinetoEvent& e) const {
    if (e.facts.in_elements) return e.facts;
    const CommunicationFacts* noted = nullptr;
    if (const auto at = by_external_id_.find(e.external_id.value_or(-1)); at != by_external_id_.end()) noted = at->second;
    if (!noted) noted = around_launch(e);
    if (!noted) return e.facts;
    CommunicationFacts out = *noted;
    if (out.name.empty()) out.name = e.facts.name;
    return out;
  }

  // What the shortest operator says within which the kernel was launched.
  const CommunicationFacts* around_launch(const KinetoEvent& e) const {
    const auto launch = read_.launches.find(e.correlation.value_or(-1));
    if (launch == read_.launches.end()) return nullptr;
    const KinetoEvent* found = nullptr;
    for (const KinetoEvent& noted : read_.events) {
      if (noted.kind != KinetoEvent::Kind::recorded && noted.kind != KinetoEvent::Kind::annotation) continue;
      const auto& [thread, at] = launch->second;
      if (!noted.facts.in_elements || noted.stream != thread || at < noted.start || at > noted.start + noted.lasts) continue;
      if (!found || noted.lasts < found->lasts) found = &noted;
    }
    return found ? &found->facts : nullptr;
  }

  TracedOperation operation_of(const KinetoEvent& e) {
    TracedOperation o{.in_order = true, .stream = lane(e.stream), .duration = e.lasts, .record = e.number};
    const bool from_gpu = is_communication_kernel(e);
    if (!from_gpu && e.kind != KinetoEvent::Kind::recorded && e.kind != KinetoEvent::Kind::annotation) return o;
    const CommunicationFacts facts = facts_of(e);
    auto kind = communication_named(facts.name);
    if (!kind && e.name.find("SendRecv") != std::string::npos && facts.in_elements)
      kind = CommunicationKind{Kind::collective, TracedCollective::alltoall};  // NCCL has no other collective of sends and receives
    if (!kind) kind = communication_named(e.name.substr(0, e.name.find("_RING")));
    o.bytes = TracedOperation::unknown;
    if (kind) {
      o.kind = kind->kind;
      o.collective = kind->collective;
    } else {
      o.kind = Kind::collective;
    }
    set_bytes(o, facts);
    o.tag = o.kind == Kind::collective && numbered_ && from_gpu ? static_cast<int>(*e.facts.sequence) : TracedOperation::no_sequence;
    if (o.kind == Kind::collective) {
      o.group = builder_.group(group_of(facts));
      const auto root = facts.source;
      o.peer = root && *root >= 0 && *root < 1 << 24 ? static_cast<Rank>(*root) : TracedOperation::any_rank;
    } else {
      set_peer(o, facts);
    }
    if (o.bytes == TracedOperation::unknown) {
      const std::string what = kind ? (o.kind == Kind::collective ? std::string(name_of(o.collective)) : "message") : "communication";
      missing_.add(fmt::format("the {} {}; taken as a computation of the time it took", what, what_it_lacks(o, facts)),
                   builder_.place(e.number));
      o.kind = Kind::compute;
    } else if (!kind) {
      const std::string name = facts.name.empty() ? e.name : facts.name;
      missing_.add(fmt::format("the communication \"{}\" is none that is known; taken as a computation of the time it took", name),
                   builder_.place(e.number));
      o.kind = Kind::compute;
    }
    return o;
  }

  static std::string_view what_it_lacks(const TracedOperation& o, const CommunicationFacts& facts) {
    if (o.kind == Kind::send && !facts.destination) return "does not say to which rank";
    if (o.kind == Kind::receive && !facts.source) return "does not say from which rank";
    return facts.in_elements && !facts.element_bytes ? "is of elements whose type is not known" : "does not say its size";
  }

  void set_bytes(TracedOperation& o, const CommunicationFacts& facts) {
    if (o.kind == Kind::collective && o.collective == TracedCollective::barrier) {
      o.bytes = 0;  // whatever the tensor is that it is done with
      return;
    }
    if (!facts.in_elements || !facts.element_bytes) return;
    if (o.kind == Kind::collective && o.collective == TracedCollective::alltoall && facts.uneven) {
      o.uneven = true;
      o.bytes = bytes_of(*facts.uneven, facts.group_size, *facts.element_bytes).value_or(TracedOperation::unknown);
      if (facts.uneven->cut_off) missing_.add(cut_off_parts, builder_.place(o.record));
      return;
    }
    std::int64_t elements = *facts.in_elements;
    const bool whole_on_all = o.kind != Kind::collective || o.collective == TracedCollective::broadcast ||
                              o.collective == TracedCollective::reduce || o.collective == TracedCollective::allreduce;
    if (whole_on_all) elements = std::max(elements, facts.out_elements.value_or(0));
    if (o.kind == Kind::collective && o.collective == TracedCollective::allgather && elements == 0 && facts.group_size > 0)
      elements = facts.out_elements.value_or(0) / facts.group_size;
    if (elements <= max_traced_bytes / *facts.element_bytes) o.bytes = elements * *facts.element_bytes;
  }

  void set_peer(TracedOperation& o, const CommunicationFacts& facts) {
    const auto peer = o.kind == Kind::send ? facts.destination : facts.source;
    o.tag = 0;
    if (!peer || *peer < 0 || *peer >= 1 << 24) {
      o.bytes = TracedOperation::unknown;
      return;
    }
    o.peer = static_cast<Rank>(*peer);
    const std::vector<Rank> members = group_of(facts).ranks;  // numbers of a smaller group are its own
    if (!members.empty() && std::ranges::find(members, o.peer) == members.end() && std::cmp_less(o.peer, members.size()))
      o.peer = members[static_cast<std::size_t>(o.peer)];
  }

  int lane(std::int64_t stream) { return lanes_.try_emplace(stream, static_cast<int>(lanes_.size())).first->second; }

  // It waits for the one before it on its stream and for the last that had ended when it began; what lies between that end, or where
  // nothing had ended yet the beginning of the rank, and its own is the host's time.
  void add(const KinetoEvent& e) {
    while (!running_.empty() && running_.top().first <= e.start) {
      last_ended_ = running_.top();
      running_.pop();
    }
    TracedOperation o = operation_of(e);
    std::vector<std::uint64_t> after;
    if (last_ended_) after.push_back(last_ended_->second);
    const SimTime gap = e.start - (last_ended_ ? last_ended_->first : began_);
    std::uint64_t id = next_id_++;
    if (o.kind == Kind::compute) {
      o.duration += gap;
    } else if (gap.ps > 0) {
      if (const auto before = last_on_.find(o.stream); before != last_on_.end()) after.push_back(before->second);
      builder_.add(id, {.duration = gap, .record = e.number}, after);
      after = {id};
      id = next_id_++;
    }
    builder_.add(id, o, std::move(after));
    last_on_[o.stream] = id;
    running_.emplace(e.start + e.lasts, id);
  }

  using Ended = std::pair<SimTime, std::uint64_t>;  // when, and which

  KinetoFile read_;
  RankBuilder builder_;
  Missing missing_;
  bool numbered_ = true;
  std::unordered_map<std::int64_t, const CommunicationFacts*> by_external_id_;
  std::map<std::int64_t, int> lanes_;
  std::map<int, std::uint64_t> last_on_;  // by stream
  std::priority_queue<Ended, std::vector<Ended>, std::greater<>> running_;
  SimTime began_;
  std::optional<Ended> last_ended_;
  std::uint64_t next_id_ = 0;
};

}  // namespace

bool looks_like_kineto(std::string_view text) {
  return text.substr(0, 1 << 16).find("\"traceEvents\"") != std::string_view::npos ||
         text.find("\"traceEvents\"") != std::string_view::npos;
}

TraceFile parse_kineto(std::string_view text, const std::string& file) { return Timeline(read_kineto_events(text, file), file).make(); }

}  // namespace weft
