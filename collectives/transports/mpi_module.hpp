// MPI for a program that holds SimGrid, which defines MPI's functions too: a module that is loaded when it is asked for, and whose calls go
// to the MPI that it was built with.
#pragma once

#include "collectives/transports/mpi.hpp"

#include <memory>
#include <string>

namespace weft {

// What the module makes: one rank, in a process that mpirun started.
class MpiModule {
 public:
  virtual ~MpiModule() = default;
  virtual Rank rank() const = 0;
  virtual int ranks() const = 0;
  virtual Transport& at(int channel) = 0;
  // As MpiWorld has them.
  virtual void fail(const std::string& reason) = 0;
  [[noreturn]] virtual void abort() = 0;
};

constexpr const char* mpi_module_file = "weft_mpi.so";
constexpr const char* mpi_module_entry = "weft_open_mpi";
using OpenMpi = MpiModule*(const MpiSettings&);  // the caller's to delete

// Starts MPI in this process. Throws InputError where there is no module, and RunError where MPI does not start.
std::unique_ptr<MpiModule> load_mpi(const MpiSettings& settings);

}  // namespace weft
