#include "models/traces/builder.hpp"
#include "models/traces/kineto_events.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <initializer_list>
#include <map>
#include <string>
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
  // Of PyTorch's ScalarType, of torch.dtype and of C++: small letters and digits only, without c10::, torch. and the _t of int8_t.
  std::string name;
  for (std::size_t i = 0; i < dtype.size(); ++i) {
    for (const std::string_view scope : {"c10::", "at::", "torch."})
      if (dtype.substr(i).starts_with(scope)) i += scope.size();
    if (i < dtype.size() && std::isalnum(static_cast<unsigned char>(dtype[i])) != 0)
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(dtype[i])));
  }
  for (const std::string_view suffix : {"tensor", "t"})
    if (name.ends_with(suffix) &&
        (suffix != "t" || (name.size() > 1 && std::isdigit(static_cast<unsigned char>(name[name.size() - 2])) != 0)))
      name.resize(name.size() - suffix.size());
  static const std::map<std::string_view, std::int64_t> sizes = [] {
    std::map<std::string_view, std::int64_t> out;
    const auto add = [&](std::int64_t bytes, std::initializer_list<std::string_view> names) {
      for (const std::string_view one : names) out[one] = bytes;
    };
    add(1, {"byte",       "char",           "bool",       "int8",         "uint8",          "qint8",          "quint8",
            "signedchar", "unsignedchar",   "quint4x2",   "quint2x4",     "bits1x8",        "bits2x4",        "bits4x2",
            "bits8",      "float4e2m1fnx2", "int1",       "int2",         "int3",           "int4",           "int5",
            "int6",       "int7",           "uint1",      "uint2",        "uint3",          "uint4",          "uint5",
            "uint6",      "uint7",          "float8e5m2", "float8e4m3fn", "float8e5m2fnuz", "float8e4m3fnuz", "float8e8m0fnu"});
    add(2, {"short", "half", "bfloat16", "int16", "uint16", "float16", "bits16", "shortint", "unsignedshort", "unsignedshortint"});
    add(4, {"int", "float", "int32", "uint32", "float32", "qint32", "unsignedint", "unsigned", "complexhalf", "complex32", "chalf"});
    add(8, {"long", "double", "int64", "uint64", "float64", "longint", "longlong", "longlongint", "unsignedlong", "unsignedlongint",
            "unsignedlonglong", "complexfloat", "complex64", "cfloat"});
    add(16, {"complexdouble", "complex128", "cdouble"});
    return out;
  }();
  const auto at = sizes.find(name);
  return at == sizes.end() ? std::nullopt : std::optional(at->second);
}

std::optional<UnevenParts> uneven_parts(std::string_view sent, std::string_view received) {
  UnevenParts out;
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const std::string_view list : {sent, received}) {
    std::int64_t number = 0;
    for (std::size_t at = list.find_first_of("0123456789"); at != std::string_view::npos; at = list.find_first_of("0123456789", at)) {
      std::int64_t part = 0;
      const auto [end, error] = std::from_chars(list.data() + at, list.data() + list.size(), part);
      if (error != std::errc{}) return std::nullopt;
      at = static_cast<std::size_t>(end - list.data());
      least = std::min(least, part);
      out.largest = std::max(out.largest, part);
      ++number;
    }
    out.number = std::max(out.number, number);
    out.cut_off |= list.find("...") != std::string_view::npos;
  }
  return least < out.largest ? std::optional(out) : std::nullopt;
}

std::optional<std::int64_t> bytes_of(const UnevenParts& parts, std::int64_t group_size, std::int64_t element_bytes) {
  const std::int64_t number = std::max(parts.number, parts.cut_off ? group_size : 0);
  if (parts.largest > max_traced_bytes / element_bytes / number) return std::nullopt;
  return parts.largest * number * element_bytes;
}

}  // namespace weft
