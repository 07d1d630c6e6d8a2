// A fabric as a small cluster on one Linux machine, in words that iproute2 understands: pure data, nothing is run here.
//
// Every endpoint is a network namespace and every switch a bridge, all bridges in one more namespace. A cable is a veth pair,
// and each of its directions has a token bucket at the link's rate where it begins. Bridges neither learn nor flood: which
// way a frame goes is written into their tables, so that its path is the one that Routes chose.
//
// Where switches are to add, each one with endpoints also has a place for a program: one more namespace, on a cable of its own
// to the bridge that is as fast as the machine, so that what passes the program takes the links of the fabric and no others.
#pragma once

#include "kernels/base/error.hpp"
#include "models/fabric/routes.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace weft::lab {

enum class Tool { ip, tc, bridge };
std::string_view name_of(Tool);

// One line of a batch of a tool, in a namespace ("": the one we are in).
struct Command {
  Tool tool = Tool::ip;
  std::string in = {};
  std::string line = {};
  friend bool operator==(const Command&, const Command&) = default;
};
std::string to_string(const Command&);  // "tc -n weft-7-net qdisc add dev p3 root ..."

struct Host {
  std::string in;       // its namespace
  std::string address;  // its only one: within the lab, whichever cable it is reached by
};

// Whether switches with endpoints have places for programs.
enum class Programs { no, yes };

struct Plan {
  std::vector<std::string> namespaces = {};
  std::vector<Host> hosts = {};          // by endpoint
  std::map<NodeId, Host> programs = {};  // by switch
  std::vector<Command> commands = {};    // in the order to run them
  std::string bridges_in = {};           // the namespace of all switches
  std::int64_t packet_bytes = 0;         // of IP, on every link
};

constexpr int max_hosts = 128;

// Of a packet on a link, before its IP header.
constexpr int ethernet_header_bytes = 14;

// The size of an IP packet on every link.
std::int64_t packet_bytes(const Fabric& fabric);

// What keeps a fabric from being built so, in a scenario's words: too many endpoints, rates that one machine cannot keep,
// paths that a table of destinations cannot hold.
std::vector<Problem> problems(const Fabric& fabric, Ecmp ecmp, Programs programs = Programs::no);

// Throws InputError with all problems. Names begin with `prefix`, at most 10 characters.
Plan plan(const Fabric& fabric, Ecmp ecmp, const std::string& prefix, Programs programs = Programs::no);

}  // namespace weft::lab
