#include "sim/engine/kernel_model.hpp"

#include "sim/engine/simgrid_compat.hpp"

#include <algorithm>
#include <memory>

#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/s4u.hpp>

namespace weft {
namespace {

// The engine counts in double seconds since its start, we in integer picoseconds: the model answers with its next date
// and, when the engine comes back, handles what it promised, whatever the rounding of the engine's clock.
class KernelModel final : public simgrid::kernel::resource::Model {
 public:
  explicit KernelModel(EventSource& source) : Model("weft"), source_(source) {}

  double next_occurring_event(double now) override {
    const SimTime next = source_.next_date();
    if (next == SimTime::never()) return -1.0;
    return std::max(0.0, next.seconds() - now);
  }

  void update_actions_state(double now, double /*delta*/) override {
    // Half a picosecond past the engine's clock: dates are whole picoseconds.
    const auto reached = [&](SimTime date) { return date.seconds() <= now + 0.5e-12 + now * 1e-15; };
    while (source_.next_date() != SimTime::never() && reached(source_.next_date())) source_.advance();
  }

 private:
  EventSource& source_;
};

}  // namespace

void run_in_engine(EventSource& source) {
  static int argc = 1;
  static char name[] = "weft";
  static char* argv[] = {name, nullptr};
  simgrid::s4u::Engine engine(&argc, argv);
  simgrid_compat::add_full_zone(engine, "world")->seal();  // the engine insists on a platform
  engine.add_model(std::make_shared<KernelModel>(source));
  engine.run();
}

}  // namespace weft
