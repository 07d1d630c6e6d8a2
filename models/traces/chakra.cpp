#include "models/traces/chakra.hpp"

#include "kernels/base/gather.hpp"
#include "models/traces/chakra_node.hpp"

#include <cmath>

#include <protozero/pbf_reader.hpp>

namespace weft {
namespace {

using protozero::pbf_reader;
using Wire = protozero::pbf_wire_type;

constexpr std::uint32_t field(protozero::pbf_tag_type tag, Wire wire) { return protozero::tag_and_type(tag, wire); }

std::string_view view_of(pbf_reader& in) {
  const protozero::data_view view = in.get_view();
  return {view.data(), view.size()};
}

// A value of Chakra's AttributeProto, whichever of its types the producer chose.
struct Attribute {
  std::string_view name = {}, text = {};
  std::optional<std::int64_t> whole = {};
  bool has_text = false, odd = false;  // odd: a number that is not whole, or too large

  void take(double value) {
    odd = !(std::abs(value) < 9e18) || std::trunc(value) != value;
    if (!odd) whole = static_cast<std::int64_t>(value);
  }
  void take(std::uint64_t value) {
    odd = !std::in_range<std::int64_t>(value);
    if (!odd) whole = static_cast<std::int64_t>(value);
  }
};

Attribute attribute_of(pbf_reader in) {
  Attribute out;
  while (in.next()) switch (in.tag_and_type()) {
      case field(1, Wire::length_delimited):
        out.name = view_of(in);
        break;
      case field(3, Wire::fixed64):
        out.take(in.get_double());
        break;
      case field(5, Wire::fixed32):
        out.take(static_cast<double>(in.get_float()));
        break;
      case field(7, Wire::varint):
        out.whole = in.get_int32();
        break;
      case field(9, Wire::varint):
        out.whole = in.get_int64();
        break;
      case field(11, Wire::varint):
        out.whole = in.get_uint32();
        break;
      case field(13, Wire::varint):
        out.take(in.get_uint64());
        break;
      case field(15, Wire::varint):
        out.whole = in.get_sint32();
        break;
      case field(17, Wire::varint):
        out.whole = in.get_sint64();
        break;
      case field(19, Wire::fixed32):
        out.whole = in.get_fixed32();
        break;
      case field(21, Wire::fixed64):
        out.take(in.get_fixed64());
        break;
      case field(23, Wire::fixed32):
        out.whole = in.get_sfixed32();
        break;
      case field(25, Wire::fixed64):
        out.whole = in.get_sfixed64();
        break;
      case field(27, Wire::varint):
        out.whole = in.get_bool() ? 1 : 0;
        break;
      case field(29, Wire::length_delimited):
      case field(31, Wire::length_delimited):
        out.text = view_of(in);
        out.has_text = true;
        break;
      default:
        in.skip();
    }
  return out;
}

// Throws std::string: what is wrong with the value.
void set(ChakraNode& node, const Attribute& a) {
  const auto whole = [&](std::optional<std::int64_t>& into) {
    if (!a.whole) throw fmt::format("\"{}\" must be a whole number{}", a.name, a.odd ? " that fits into 64 bits" : "");
    into = a.whole;
  };
  if (a.name == "comm_type") return whole(node.comm_type);
  if (a.name == "comm_size") return whole(node.comm_size);
  if (a.name == "comm_src") return whole(node.comm_src);
  if (a.name == "comm_dst") return whole(node.comm_dst);
  if (a.name == "comm_tag") return whole(node.comm_tag);
  if (a.name == "root" || a.name == "root_rank") return whole(node.root);
  if (a.name == "num_ops") return static_cast<void>(node.num_ops = a.odd ? 1 : a.whole.value_or(0));
  if (a.name == "tensor_size") return static_cast<void>(node.tensor_size = a.odd ? 1 : a.whole.value_or(0));
  if (a.name == "stream") return static_cast<void>(node.stream = a.whole);
  if (a.name == "tid") return static_cast<void>(node.tid = a.whole);
  if (a.name == "is_cpu_op" && a.whole) node.is_cpu_op = *a.whole != 0;
  if (a.name == "pg_name" && a.has_text) node.pg_name = std::string(a.text);
  if (a.name == "pg_name" && a.whole) node.pg_name = std::to_string(*a.whole);
}

// The values of an IOInfo.
std::string values_of(pbf_reader in) {
  std::string out;
  while (in.next())
    if (in.tag_and_type() == field(1, Wire::length_delimited))
      out = std::string(view_of(in));
    else
      in.skip();
  return out;
}

ChakraNode node_of(pbf_reader in) {
  ChakraNode node;
  std::vector<pbf_reader> attributes;
  std::optional<pbf_reader> inputs;
  while (in.next()) switch (in.tag_and_type()) {
      case field(1, Wire::varint):
        node.id = in.get_uint64();
        break;
      case field(2, Wire::length_delimited):
        node.name = std::string(view_of(in));
        break;
      case field(3, Wire::varint):
        node.type = in.get_int64();
        break;
      case field(5, Wire::varint):
        node.data_deps.push_back(in.get_uint64());
        break;
      case field(5, Wire::length_delimited):
        for (const std::uint64_t id : in.get_packed_uint64()) node.data_deps.push_back(id);
        break;
      case field(7, Wire::varint):
        node.duration_us = in.get_uint64();
        break;
      case field(8, Wire::length_delimited):
        inputs = in.get_message();
        break;
      case field(10, Wire::length_delimited):
        attributes.push_back(in.get_message());
        break;
      default:
        in.skip();
    }
  try {
    for (const pbf_reader& attribute : attributes) set(node, attribute_of(attribute));
  } catch (const std::string& what) {
    throw fmt::format("node {}: {}", node.id, what);
  }
  if (inputs && node.type == ChakraNode::metadata) node.inputs = values_of(*inputs);
  return node;
}

// The next message, which stands behind its length.
std::string_view next_message(std::string_view& rest) {
  const char* at = rest.data();
  const std::uint64_t length = protozero::decode_varint(&at, rest.data() + rest.size());
  rest.remove_prefix(static_cast<std::size_t>(at - rest.data()));
  if (length > rest.size()) throw fmt::format("a message of {} bytes, of which the file holds {}", length, rest.size());
  const std::string_view message = rest.substr(0, static_cast<std::size_t>(length));
  rest.remove_prefix(message.size());
  return message;
}

pbf_reader reader_of(std::string_view message) { return pbf_reader(message.data(), message.size()); }

}  // namespace

bool looks_like_chakra(std::string_view bytes) {
  try {
    const std::string_view message = next_message(bytes);
    if (message.empty()) return true;  // a GlobalMetadata of defaults
    for (pbf_reader in = reader_of(message); in.next(); in.skip())
      if (in.tag() != 1 && in.tag() != 2) return false;
    return true;
  } catch (const std::string&) {
    return false;
  } catch (const protozero::exception&) {
    return false;
  }
}

TraceFile parse_chakra(std::string_view bytes, const std::string& file) {
  ChakraRank rank(file);
  std::string_view rest = bytes;
  std::vector<std::string> problems;
  for (std::size_t record = 0; !rest.empty() && problems.size() < max_problems_of_a_file; ++record) {
    const std::size_t offset = bytes.size() - rest.size();
    bool goes_on = false;
    const auto wrong = [&](const std::string& what) {
      problems.push_back(fmt::format("{}: record {} (byte {}): {}", file, record, offset, what));
    };
    try {
      const std::string_view message = next_message(rest);
      goes_on = true;
      if (record > 0) rank.add(node_of(reader_of(message)));  // GlobalMetadata first: versions differ in nothing that matters here
    } catch (const std::string& what) {
      wrong(what);
    } catch (const protozero::exception& error) {
      wrong(fmt::format("is no protobuf message ({})", error.what()));
    }
    if (!goes_on) break;  // nobody knows where the next one begins
  }
  if (!problems.empty()) throw InputError(std::move(problems));
  return rank.finish();
}

}  // namespace weft
