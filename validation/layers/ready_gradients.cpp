#include "validation/layers/ready_gradients.hpp"

#include "kernels/files/files.hpp"
#include "validation/measurements/lines.hpp"

#include <algorithm>
#include <array>
#include <map>

namespace weft {
namespace {

// A table whose lines may hold quoted fields, as text by column; lines that begin with # are comments.
class GradientTable {
 public:
  GradientTable(std::string_view text, std::string file) : file_(std::move(file)), lines_(lines_in(text)) {
    if (lines_.empty()) throw InputError(file_ + ": is empty");
    const auto names = csv_fields(lines_.front()).value_or(std::vector<std::string>{});
    for (std::size_t i = 0; i < names.size(); ++i) column_[std::string(trimmed(names[i]))] = i;
    columns_ = names.size();
  }

  bool has(std::initializer_list<const char*> names) const {
    return std::ranges::all_of(names, [&](const char* name) { return column_.contains(name); });
  }
  std::string_view header() const { return lines_.front(); }
  std::string where(std::size_t line) const { return fmt::format("{}:{}", file_, line + 1); }

  // Calls `take` with each line that has its fields.
  template <class Take>
  void for_each(Take take) {
    for (line_ = 1; line_ < lines_.size(); ++line_) {
      if (const auto line = trimmed(lines_[line_]); line.empty() || line.starts_with('#')) continue;
      const auto fields = csv_fields(lines_[line_]);
      if (!fields || fields->size() != columns_) {
        problem(fmt::format("must have {} fields: {}", columns_, header()));
        continue;
      }
      fields_ = *fields;
      take(line_);
    }
  }
  std::string_view field(const char* name) const { return trimmed(fields_[column_.at(name)]); }
  double number(const char* name) {
    const auto value = number_in(field(name));
    if (value && *value >= 0) return *value;
    problem(fmt::format("\"{}\" must be a number, 0 or more, got \"{}\"", name, field(name)));
    return 0;
  }
  void problem(std::string_view what) { problems_.push_back(fmt::format("{}: {}", where(line_), what)); }
  void refuse() const {
    if (!problems_.empty()) throw InputError(problems_);
  }

 private:
  std::string file_;
  std::vector<std::string_view> lines_;
  std::map<std::string, std::size_t> column_;
  std::size_t columns_ = 0, line_ = 0;
  std::vector<std::string> fields_;
  std::vector<std::string> problems_;
};

std::vector<ReadyGradient> tensors_in(GradientTable& table, const std::string& measured) {
  std::vector<ReadyGradient> out;
  double now_us = 0;
  table.for_each([&](std::size_t line) {
    if (table.field("model") != measured) return;
    now_us += table.number("wait_since_previous_us");
    out.push_back({.where = table.where(line), .bytes = std::llround(table.number("param_bytes")), .ready_us = now_us});
  });
  return out;
}

// Modules come in the order of forward; those without parameters only take their time.
std::vector<ReadyGradient> modules_in(GradientTable& table, const std::string& measured) {
  std::vector<ReadyGradient> modules, out;
  table.for_each([&](std::size_t line) {
    if (table.field("model") != measured) return;
    modules.push_back({.where = table.where(line),
                       .bytes = std::llround(table.number("parameter_bytes")),
                       .of_layer = true,
                       .ready_us = 1e3 * table.number("backward_ms")});
  });
  double now_us = 0;
  for (auto module = modules.rbegin(); module != modules.rend(); ++module) {
    now_us += module->ready_us;
    if (module->bytes == 0) continue;
    out.push_back(*module);
    out.back().ready_us = now_us;
  }
  return out;
}

// Nodes of autograd, of which these three kinds have parameters.
std::vector<ReadyGradient> operators_in(GradientTable& table) {
  constexpr std::array with_parameters{"ConvolutionBackward", "BatchNormBackward", "AddmmBackward"};
  std::vector<ReadyGradient> out;
  double now_us = 0;
  table.for_each([&](std::size_t line) {
    if (table.field("stage") != "backward") return;
    now_us += table.number("Operator_cudatime");
    const std::string_view name = table.field("OperatorName");
    if (std::ranges::any_of(with_parameters, [&](const char* kind) { return name.find(kind) != name.npos; }))
      out.push_back({.where = table.where(line), .of_layer = true, .ready_us = now_us});
  });
  return out;
}

// The tensors of a model in the order in which their gradients become ready, or its layers with parameters.
std::vector<ReadyGradient> order_of_backward(const Model& model, bool of_layers) {
  std::vector<ReadyGradient> out;
  for (std::size_t l = model.layers.size(); l-- > 0;) {
    const Layer& layer = model.layers[l];
    if (of_layers && !layer.tensors.empty()) out.push_back({.bytes = 4 * layer.parameters(), .of_layer = true, .layer = l});
    for (auto tensor = layer.tensors.rbegin(); !of_layers && tensor != layer.tensors.rend(); ++tensor)
      out.push_back({.bytes = 4 * tensor->elements, .layer = l});
  }
  return out;
}

// Of a layer's tensors, any may come first.
void find_layers(std::vector<ReadyGradient>& measured, const Model& model, const std::string& file) {
  std::vector<ReadyGradient> expected = order_of_backward(model, measured.front().of_layer);
  std::vector<std::string> problems;
  if (measured.size() != expected.size())
    problems.push_back(fmt::format("{}: has {} {} with gradients, {} has {}", file, measured.size(),
                                   measured.front().of_layer ? "layers" : "tensors", model.name, expected.size()));
  for (std::size_t i = 0; problems.empty() && i < measured.size(); ++i) {
    const auto next = expected.begin() + static_cast<std::ptrdiff_t>(i);
    const auto of_other_layer = std::find_if(next, expected.end(), [&](const ReadyGradient& g) { return g.layer != next->layer; });
    const auto same = std::ranges::find(next, of_other_layer, measured[i].bytes, &ReadyGradient::bytes);
    if (same != of_other_layer) std::iter_swap(next, same);
    measured[i].layer = next->layer;
    if (measured[i].bytes == 0) measured[i].bytes = next->bytes;
    if (measured[i].bytes != next->bytes)
      problems.push_back(fmt::format("{}: the next gradient of {}, of {}, has {} bytes, got {}", measured[i].where, model.name,
                                     model.layers[next->layer].name, next->bytes, measured[i].bytes));
  }
  if (!problems.empty()) throw InputError(problems);
}

}  // namespace

std::vector<ReadyGradient> parse_ready_gradients(std::string_view text, const std::string& file, const std::string& measured,
                                                 const Model& model) {
  GradientTable table(text, file);
  std::vector<ReadyGradient> out;
  if (table.has({"model", "wait_since_previous_us", "param_bytes"}))
    out = tensors_in(table, measured);
  else if (table.has({"model", "backward_ms", "parameter_bytes"}))
    out = modules_in(table, measured);
  else if (table.has({"OperatorName", "Operator_cudatime", "stage"}))
    out = operators_in(table);
  else
    throw InputError(
        fmt::format("{}:1: must name the columns of gradients as they become ready (model, wait_since_previous_us, "
                    "param_bytes), of PipeDream's profile or of TrioSim's trace, got {}",
                    file, table.header()));
  table.refuse();
  if (out.empty()) throw InputError(fmt::format("{}: has no backward pass of \"{}\"", file, measured));
  find_layers(out, model, file);
  return out;
}

std::vector<ReadyGradient> read_ready_gradients(const std::filesystem::path& file, const std::string& measured, const Model& model) {
  return parse_ready_gradients(read_file(file), file.string(), measured, model);
}

}  // namespace weft
