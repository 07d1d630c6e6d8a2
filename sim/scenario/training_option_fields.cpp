// What a workload may say of training besides model, device and engine.
#include "sim/scenario/scenario_fields.hpp"
#include "sim/scenario/training_fields.hpp"

namespace weft {
namespace {

struct EveryRank {
  static const std::vector<Rank> value;
  static constexpr const char* word = "all";
};
const std::vector<Rank> EveryRank::value = {};

struct NoCheckpoint {
  static constexpr int value = 0;
  static constexpr const char* word = "never";
};

Alternative<TrainingEvent> event(TrainingEvent::Kind kind, std::string doc, Fields<TrainingEvent> fields) {
  return {.name = kind == TrainingEvent::Kind::failure ? "failure" : "growth",
          .doc = std::move(doc),
          .fields = std::move(fields),
          .select = [kind](TrainingEvent& e) { e.kind = kind; },
          .selected = [kind](const TrainingEvent& e) { return e.kind == kind; }};
}

// Written only where it says something.
template <class T>
Field<TrainingChoice> unless_default(Field<TrainingChoice> field, T TrainingChoice::*member) {
  return written_if(std::move(field), [member](const TrainingChoice& t) { return t.*member != TrainingChoice{}.*member; });
}

}  // namespace

const std::vector<std::pair<TrainingDetail, std::string>>& Names<TrainingDetail>::values() {
  static const std::vector<std::pair<TrainingDetail, std::string>> all = {
      {TrainingDetail::automatic, "automatic"}, {TrainingDetail::messages, "messages"}, {TrainingDetail::merged, "merged"}};
  return all;
}

Declaration<Stragglers> Declared<Stragglers>::declaration() {
  using S = Stragglers;
  return {.doc = "Random slowdowns of the ranks' computation.",
          .fields = {
              optional("spread", &S::spread,
                       "The computation of a rank in a step takes 1 + spread x times as long, where x is exponentially distributed with "
                       "mean 1; 0 when not given.",
                       between(0.0, 1000.0)),
              optional_as<OrWord<std::vector<Rank>, EveryRank>>("ranks", &S::ranks, "The ranks that are slowed down; all when not given."),
              optional("seed", &S::seed, "The seed of the slowdowns; the scenario's seed when not given.")}};
}

Declaration<Checkpoints> Declared<Checkpoints>::declaration() {
  using C = Checkpoints;
  return {.doc = "Parameters and optimizer states are written to storage while all ranks wait.",
          .fields = {
              optional_as<OrWord<int, NoCheckpoint>>(
                  "every", &C::every, "The number of steps from one checkpoint to the next; none are written when not given.", at_least(1)),
              required("rate", &C::rate, "The rate at which all GPUs together write and read checkpoints.",
                       at_least(BitsPerSecond{1'000'000}))}};
}

Declaration<TrainingEvent> Declared<TrainingEvent>::declaration() {
  using E = TrainingEvent;
  const auto after = [] {
    return required("after_step", &E::after_step, "The step after which it happens, from 1.", between(1, 1'000'000));
  };
  const auto pause = [](const char* doc) { return optional("pause", &E::pause, doc, at_least(SimTime{})); };
  return {
      .doc = "Something that happens to a training run between two steps.",
      .fields = {},
      .tag = "type",
      .alternatives = {
          event(TrainingEvent::Kind::failure,
                "A node fails and is replaced: all ranks read the last checkpoint, its parameters are broadcast, and the steps since are "
                "done again (where there is no checkpoint, all steps so far, and nothing is read).",
                {after(), pause("The time until the failure is noticed and the processes run again; 0s when not given.")}),
          event(TrainingEvent::Kind::growth, "Further ranks join on the next endpoints, and get the parameters by broadcast.",
                {after(), pause("The time until all processes run; 0s when not given."),
                 required("ranks", &E::ranks, "The number of ranks that join.", between(1, 1'000'000))})}};
}

Fields<TrainingChoice> training_option_fields() {
  using T = TrainingChoice;
  return {
      optional("gradient_dtype", &T::gradient_dtype,
               "Type of gradients on the wire, such as float16: each is converted when it is ready and back before the update; as "
               "\"dtype\" when not given."),
      unless_default(optional("tf32", &T::tf32,
                              "Whether layers of float32 compute in TF32, as frameworks have convolutions do where nobody says otherwise; "
                              "false when not given."),
                     &T::tf32),
      unless_default(optional("nan_check", &T::nan_check,
                              "Whether each gradient is read once more when it is ready, to find values that are not numbers."),
                     &T::nan_check),
      unless_default(
          optional(
              "forward_by_layer", &T::forward_by_layer,
              "Whether the next step's forward pass waits, layer by layer, for the gradients of that layer only; false when not given."),
          &T::forward_by_layer),
      unless_default(optional("model_parallel", &T::model_parallel,
                              "The number of neighbouring ranks that share each layer; all-reduces join the ranks with the same part. "
                              "Messages between the parts of one model are left out.",
                              between(1, 16)),
                     &T::model_parallel),
      unless_default(optional("stragglers", &T::stragglers, "Random slowdowns of the ranks' computation."), &T::stragglers),
      unless_default(
          optional("detail", &T::detail,
                   "messages: all-reduces message by message; merged: steps that follow one another between the same ranks as one; "
                   "automatic: the former up to a million messages."),
          &T::detail),
      unless_default(optional("checkpoints", &T::checkpoints, "Parameters and optimizer states are written to storage."), &T::checkpoints),
      unless_default(optional("events", &T::events, "Failures during training, and ranks that join it."), &T::events)};
}

}  // namespace weft
