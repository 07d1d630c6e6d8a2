#include "models/traces/kineto_events.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

namespace weft {
namespace {

// Letters only, small: "_reduce_scatter_base" and "ReduceScatter" are one.
std::string letters_of(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (std::isalpha(static_cast<unsigned char>(c)) != 0) out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

}  // namespace

std::optional<CommunicationKind> communication_named(std::string_view name) {
  using Kind = TracedOperation::Kind;
  const std::string letters = letters_of(name);
  const auto has = [&](const char* part) { return letters.find(part) != std::string::npos; };
  constexpr std::array<std::pair<const char*, TracedCollective>, 9> collectives = {{{"reducescatter", TracedCollective::reduce_scatter},
                                                                                    {"allreduce", TracedCollective::allreduce},
                                                                                    {"allgather", TracedCollective::allgather},
                                                                                    {"alltoall", TracedCollective::alltoall},
                                                                                    {"broadcast", TracedCollective::broadcast},
                                                                                    {"barrier", TracedCollective::barrier},
                                                                                    {"scatter", TracedCollective::scatter},
                                                                                    {"gather", TracedCollective::gather},
                                                                                    {"reduce", TracedCollective::reduce}}};
  for (const auto& [part, collective] : collectives)
    if (has(part)) return CommunicationKind{Kind::collective, collective};
  if (letters == "send" || letters == "isend") return CommunicationKind{Kind::send, {}};
  if (letters == "recv" || letters == "irecv" || letters == "receive" || letters == "recvanysource")
    return CommunicationKind{Kind::receive, {}};
  return std::nullopt;
}

std::optional<std::int64_t> bytes_of_type(std::string_view dtype) {
  std::string name = letters_of(dtype);
  if (name.starts_with("c")) {  // c10::Half
    const std::string_view rest = std::string_view(name).substr(1);
    if (rest == "half" || rest.starts_with("bfloat") || rest.starts_with("float") || rest.starts_with("complex")) name = std::string(rest);
  }
  if (dtype.find("Float8") != std::string_view::npos || dtype.find("float8") != std::string_view::npos) return 1;
  constexpr std::array<std::pair<const char*, int>, 21> sizes = {
      {{"float", 4},       {"double", 8},       {"half", 2},        {"bfloat", 2},       {"long", 8},           {"longint", 8},
       {"int", 4},         {"short", 2},        {"shortint", 2},    {"char", 1},         {"byte", 1},           {"bool", 1},
       {"signedchar", 1},  {"unsignedchar", 1}, {"uint", 1},        {"complexfloat", 8}, {"complexdouble", 16}, {"int8t", 1},
       {"floattensor", 4}, {"longlong", 8},     {"unsignedlong", 8}}};
  if (dtype == "int64" || dtype == "Int64" || dtype == "uint64" || dtype == "float64") return 8;
  if (dtype == "float16" || dtype == "bfloat16" || dtype == "int16") return 2;
  for (const auto& [known, bytes] : sizes)
    if (name == known) return bytes;
  return std::nullopt;
}

}  // namespace weft
