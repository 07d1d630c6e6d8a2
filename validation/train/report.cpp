#include "validation/train/report.hpp"

#include "validation/train/groups.hpp"

#include <algorithm>
#include <numeric>
#include <ostream>

namespace weft::train {
namespace {

double kernels_s(const Epoch& e) { return std::accumulate(e.kernel_s.begin(), e.kernel_s.end(), 0.0); }

std::string kernel_line(const Epoch& e) {
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < kernel_count; ++i)
    if (e.kernel_s[i] > 0) parts.push_back(fmt::format("{} {:.1f}", name_of(static_cast<Kernel>(i)), e.kernel_s[i] * 1e6));
  return fmt::format("# kernels of the last epoch, us a step on rank 0: {}", fmt::join(parts, ", "));
}

std::string field(const std::string& text) { return text.find(',') == std::string::npos ? text : "\"" + text + "\""; }

}  // namespace

double Run::seconds_until(std::size_t epoch) const { return seconds_on(steps, epoch); }

double Run::seconds_on(const std::vector<StepTime>& cluster, std::size_t epoch) const {
  double seconds = 0;
  for (std::size_t i = 0; i <= epoch; ++i) seconds += static_cast<double>(curve[i].steps) * cluster[i].total().seconds();
  return seconds;
}

void print_epochs(const Run& run, std::ostream& out) {
  out << fmt::format("# {}, seed {}: measured times are means over an epoch's steps, on rank 0\n", label(run.settings.compression),
                     run.settings.seed);
  out << fmt::format("{:>5}  {:>6}  {:>8}  {:>8}  {:>8}  {:>12}  {:>11}  {:>10}  {:>11}", "epoch", "rate", "sent", "loss", "accuracy",
                     "bytes a step", "gradient us", "kernels us", "exchange us");
  if (!run.steps.empty()) out << fmt::format("  {:>12}  {:>11}", "sim. step us", "sim. time s");
  out << "\n";
  for (std::size_t i = 0; i < run.curve.size(); ++i) {
    const Epoch& e = run.curve[i];
    out << fmt::format("{:>5}  {:>6g}  {:>8}  {:>8.4f}  {:>7.2f}%  {:>12}  {:>11.1f}  {:>10.1f}  {:>11.1f}", e.number, e.learning_rate, e.k,
                       e.loss, 100 * e.accuracy, e.bytes_per_step, e.gradient_s * 1e6, kernels_s(e) * 1e6, e.exchange_s * 1e6);
    if (!run.steps.empty()) out << fmt::format("  {:>12.1f}  {:>11.4f}", run.steps[i].total().microseconds(), run.seconds_until(i));
    out << "\n";
  }
  out << kernel_line(run.curve.back()) << "\n";
}

void print_summary(const std::vector<Run>& runs, double target, std::ostream& out) {
  const bool simulated = !runs.front().steps.empty();
  out << fmt::format("{:<44}  {:>5}  {:>9}  {:>17}  {:>12}  {:>13}", "compression", "seeds", "accuracy", "least to most", "bytes a step",
                     fmt::format("epochs to {:g}%", 100 * target));
  if (simulated) out << fmt::format("  {:>12}  {:>14}", "sim. step us", fmt::format("sim. s to {:g}%", 100 * target));
  out << "\n";
  for (const auto& group : by_compression(runs)) {
    const Run& first = *group.front();
    const Spread accuracy = spread_of(group, [](const Run& r) { return 100 * r.curve.back().accuracy; });
    out << fmt::format("{:<44}  {:>5}  {:>8.2f}%  {:>7.2f}% - {:>6.2f}%  {:>12}", label(first.settings.compression), group.size(),
                       accuracy.mean, accuracy.least, accuracy.most, first.curve.back().bytes_per_step);
    const bool all = std::all_of(group.begin(), group.end(), [&](const Run* r) { return reached(*r, target).has_value(); });
    const auto epochs = [&](const Run& r) { return static_cast<double>(*reached(r, target) + 1); };
    out << fmt::format("  {:>13}", all ? fmt::format("{:.1f}", spread_of(group, epochs).mean) : "never");
    if (simulated) {
      const auto seconds = [&](const Run& r) { return r.seconds_until(*reached(r, target)); };
      out << fmt::format("  {:>12.1f}  {:>14}", first.steps.back().total().microseconds(),
                         all ? fmt::format("{:.4f}", spread_of(group, seconds).mean) : "never");
    }
    out << "\n";
  }
}

std::string to_csv(const std::vector<Run>& runs) {
  std::string csv(begin_of_csv);
  csv +=
      "learning_rate,k,loss,accuracy,steps,bytes_per_step,simulated_step_us,simulated_exchanges_us,simulated_kernels_us,"
      "simulated_s,gradient_us,kernels_us,exchange_us\n";
  for (const Run& run : runs)
    for (std::size_t i = 0; i < run.curve.size(); ++i) {
      const Epoch& e = run.curve[i];
      csv += fmt::format("{},{},{},{},{},{:g},{},{:.6f},{:.6f},{},{},", field(label(run.settings.compression)), name_of(run.medium),
                         run.settings.allreduce.ranks, run.settings.seed, e.number, e.learning_rate, e.k, e.loss, e.accuracy, e.steps,
                         e.bytes_per_step);
      if (run.steps.empty()) {
        csv += ",,,,";
      } else {
        const StepTime& step = run.steps[i];
        csv += fmt::format("{:.3f},{:.3f},{:.3f},{:.9f},", step.total().microseconds(), step.exchanges.microseconds(),
                           step.kernels.microseconds(), run.seconds_until(i));
      }
      csv += fmt::format("{:.1f},{:.1f},{:.1f}\n", e.gradient_s * 1e6, kernels_s(e) * 1e6, e.exchange_s * 1e6);
    }
  return csv;
}

std::vector<CurveLine> lines_of(const std::vector<Run>& runs) {
  std::vector<CurveLine> lines;
  for (const auto& group : by_compression(runs)) {
    CurveLine line{.name = label(group.front()->settings.compression), .points = {}};
    for (std::size_t i = 0; i < group.front()->curve.size(); ++i) {
      const Spread accuracy = spread_of(group, [i](const Run& r) { return r.curve[i].accuracy; });
      const bool simulated = !group.front()->steps.empty();
      line.points.push_back(
          {simulated ? group.front()->seconds_until(i) : static_cast<double>(i + 1), accuracy.mean, accuracy.least, accuracy.most});
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace weft::train
