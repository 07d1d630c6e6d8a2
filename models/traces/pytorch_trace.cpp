#include "models/traces/pytorch_trace.hpp"

#include "kernels/base/gather.hpp"
#include "models/traces/builder.hpp"
#include "models/traces/json_access.hpp"
#include "models/traces/kineto_events.hpp"

#include <charconv>

namespace weft {
namespace {

using Kind = TracedOperation::Kind;

// The value of a node's attribute, or null.
const TraceJson* attribute(const TraceJson& node, const char* name) {
  const TraceJson* attrs = member(node, "attrs");
  if (!attrs || !attrs->is_array()) return nullptr;
  for (const TraceJson& attr : *attrs)
    if (const auto found = text_member(attr, "name"); found && *found == name) return member(attr, "value");
  return nullptr;
}

// Where a node says what it moves: attributes since schema 1.1.0, else the inputs of record_param_comms.
struct Moved {
  std::string name = {};
  std::optional<std::int64_t> in_elements = {}, out_elements = {}, element_bytes = {};
  std::string group = {};
  std::optional<std::int64_t> root = {}, start = {}, stride = {}, size = {};
  std::optional<UnevenParts> uneven = {};
};

std::optional<std::int64_t> elements_of(const TraceJson& shapes) {
  if (!shapes.is_array()) return std::nullopt;
  if (shapes.empty()) return std::nullopt;
  std::int64_t sum = 0;
  if (shapes.front().is_array()) {  // of several tensors
    for (const TraceJson& shape : shapes) {
      const auto one = elements_of(shape);
      if (!one || *one > (std::int64_t{1} << 50) - sum) return std::nullopt;
      sum += *one;
    }
    return sum;
  }
  double product = 1;
  for (const TraceJson& dim : shapes) {
    if (!dim.is_number_unsigned()) return std::nullopt;
    product *= dim.get<double>();
  }
  return product <= 1e15 ? std::optional(static_cast<std::int64_t>(product)) : std::nullopt;
}

std::optional<std::int64_t> whole_of(const TraceJson* value) {
  if (!value) return std::nullopt;
  if (value->is_number_integer()) return value->get<std::int64_t>();
  if (!value->is_string()) return std::nullopt;
  const std::string& text = value->get_ref<const std::string&>();
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return number;
}

// What the list of inputs says: [tensors, sequence, (group, description), rank, name, ...], and their types and shapes.
void read_inputs(const TraceJson& node, Moved& out) {
  const TraceJson* inputs = member(node, "inputs");
  const bool nested = inputs && inputs->is_object();
  const TraceJson* values = nested ? member(*inputs, "values") : inputs;
  const TraceJson* shapes = nested ? member(*inputs, "shapes") : member(node, "input_shapes");
  const TraceJson* types = nested ? member(*inputs, "types") : member(node, "input_types");
  if (!values || !values->is_array()) return;
  for (const TraceJson& value : *values) {
    if (out.name.empty() && value.is_string() && value != "" && !std::isdigit(static_cast<unsigned char>(value.get<std::string>().front())))
      out.name = value.get<std::string>();
    if (out.group.empty() && value.is_array() && value.size() == 2 && value[0].is_string()) out.group = value[0].get<std::string>();
  }
  if (!types || !types->is_array() || types->empty() || !shapes || !shapes->is_array() || shapes->empty()) return;
  const std::string type = types->front().is_string() ? types->front().get<std::string>() : "";
  const std::size_t open = type.find("Tensor("), close = type.find(')', open);
  if (open == std::string::npos || close == std::string::npos) return;
  if (!out.in_elements) out.in_elements = elements_of(shapes->front());
  if (!out.element_bytes) out.element_bytes = bytes_of_type(type.substr(open + 7, close - open - 7));
}

// A count of elements, where there is one. Throws InputError where it is negative or beyond all traces.
std::optional<std::int64_t> elements_in(const TraceJson& node, const char* key, const std::string& place) {
  const auto value = whole_of(attribute(node, key));
  if (value && (*value < 0 || *value > std::int64_t{1} << 50))
    throw InputError(fmt::format("{}: \"{}\" must be from 0 to 2^50, got {}", place, key, *value));
  return value;
}

Moved moved_by(const TraceJson& node, const std::string& place) {
  Moved out;
  if (const TraceJson* name = attribute(node, "collective_name"); name && name->is_string()) out.name = name->get<std::string>();
  if (const TraceJson* dtype = attribute(node, "dtype"); dtype && dtype->is_string())
    out.element_bytes = bytes_of_type(dtype->get<std::string>());
  if (const TraceJson* group = attribute(node, "pg_name"); group && group->is_string()) out.group = group->get<std::string>();
  out.in_elements = elements_in(node, "in_msg_nelems", place);
  out.out_elements = elements_in(node, "out_msg_nelems", place);
  out.start = whole_of(attribute(node, "global_rank_start"));
  out.stride = whole_of(attribute(node, "global_rank_stride"));
  out.size = whole_of(attribute(node, "pg_size"));
  const auto list = [&](const char* key) {
    const TraceJson* value = attribute(node, key);
    return value ? value->dump() : "";
  };
  out.uneven = uneven_parts(list("in_split_size"), list("out_split_size"));
  if (out.name.empty() || !out.in_elements) read_inputs(node, out);
  return out;
}

TracedGroup group_of(const Moved& m) {
  TracedGroup group{.name = m.group};
  const auto in = [](const std::optional<std::int64_t>& value, std::int64_t low) { return value && *value >= low && *value < 1 << 20; };
  if (in(m.start, 0) && in(m.stride, 1) && in(m.size, 1))
    for (std::int64_t i = 0; i < *m.size; ++i) group.ranks.push_back(static_cast<Rank>(*m.start + i * *m.stride));
  if (in(m.size, 1)) group.size = static_cast<int>(*m.size);
  group.all = group.name.empty() && group.ranks.empty();
  return group;
}

// The first process group of "## process_group:init ##" is that of all ranks.
int world_in(const TraceJson& node) {
  const TraceJson* inputs = member(node, "inputs");
  const TraceJson* values = inputs && inputs->is_object() ? member(*inputs, "values") : inputs;
  if (!values || !values->is_array() || values->empty() || !values->front().is_string()) return 0;
  const TraceJson groups = TraceJson::parse(values->front().get<std::string>(), nullptr, false);
  if (!groups.is_array() || groups.empty()) return 0;
  for (const char* key : {"group_size", "pg_size"})
    if (const auto size = whole_of(member(groups.front(), key)); size && *size > 0 && *size < 1 << 24) return static_cast<int>(*size);
  return 0;
}

class PytorchReader {
 public:
  explicit PytorchReader(const std::string& file) : file_(file), builder_(file, "node") {}

  TraceFile read(const TraceJson& nodes) {
    TraceFile out{.format = "PyTorch execution trace"};
    std::vector<std::string> problems;
    for (std::size_t i = 0; i < nodes.size() && problems.size() < max_problems_of_a_file; ++i) {
      const std::string name = text_member(nodes[i], "name").value_or("");
      if (name.find("process_group:init") != std::string::npos) out.world = std::max(out.world, world_in(nodes[i]));
      if (name == "record_param_comms") gather(problems, [&] { add(nodes[i], i); });
    }
    if (!problems.empty()) throw InputError(std::move(problems));
    if (next_ == 0) throw InputError(fmt::format("{}: holds no communication that is known (record_param_comms)", file_));
    out.missing.push_back(
        fmt::format("{}: an execution trace has no times; what is computed between communication is taken as of no time", file_));
    out.ranks.push_back(builder_.finish(missing_));
    missing_.move_to(out.missing);
    return out;
  }

 private:
  void add(const TraceJson& node, std::size_t index) {
    const auto id = whole_of(member(node, "id"));
    const std::uint64_t record = id && *id >= 0 ? static_cast<std::uint64_t>(*id) : index;
    const Moved m = moved_by(node, builder_.place(record));
    const auto kind = communication_named(m.name);
    if (!kind) {
      if (m.name != "wait" && m.name != "init")
        missing_.add(fmt::format("the communication \"{}\" is none that is known; left out", m.name), builder_.place(record));
      return;
    }
    TracedOperation o{
        .kind = kind->kind, .collective = kind->collective, .in_order = true, .bytes = TracedOperation::unknown, .record = record};
    if (o.kind != Kind::collective)
      return missing_.add(fmt::format("the other rank of the {} is not said; left out", m.name), builder_.place(record));
    o.tag = TracedOperation::no_sequence;
    o.group = builder_.group(group_of(m));
    const std::int64_t elements =
        std::max<std::int64_t>(m.in_elements.value_or(0), o.collective == TracedCollective::broadcast ? m.out_elements.value_or(0) : 0);
    if (m.in_elements && m.element_bytes && elements >= 0 && elements <= max_traced_bytes / *m.element_bytes)
      o.bytes = elements * *m.element_bytes;
    if (o.collective == TracedCollective::alltoall && m.uneven && m.element_bytes) {
      o.uneven = true;
      o.bytes = bytes_of(*m.uneven, m.size.value_or(0), *m.element_bytes).value_or(TracedOperation::unknown);
      if (m.uneven->cut_off) missing_.add(cut_off_parts, builder_.place(record));
    }
    if (o.collective == TracedCollective::barrier) o.bytes = 0;  // whatever the tensor is that it is done with
    if (o.bytes == TracedOperation::unknown)
      missing_.add(fmt::format("the {} {}; left out", name_of(o.collective),
                               m.in_elements && !m.element_bytes ? "is of elements whose type is not known" : "does not say its size"),
                   builder_.place(record));
    std::vector<std::uint64_t> after;
    if (next_ > 0) after.push_back(next_ - 1);
    builder_.add(next_++, o, after);
  }

  const std::string& file_;
  RankBuilder builder_;
  Missing missing_;
  std::uint64_t next_ = 0;
};

}  // namespace

bool looks_like_pytorch_trace(std::string_view text) { return text.find("\"nodes\"") != std::string_view::npos; }

TraceFile parse_pytorch_trace(std::string_view text, const std::string& file) {
  const TraceJson json = parse_trace_json(text, file);
  const TraceJson* nodes = member(json, "nodes");
  if (!nodes || !nodes->is_array()) throw InputError(fmt::format("{}: /nodes must be a list", file));
  return PytorchReader(file).read(*nodes);
}

}  // namespace weft
