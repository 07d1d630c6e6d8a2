#include "collectives/transports/mpi_module.hpp"
#include "kernels/base/error.hpp"
#include "kernels/base/program_folder.hpp"

#include <dlfcn.h>

namespace weft {

std::unique_ptr<MpiModule> load_mpi(const MpiSettings& settings) {
  const std::string folder = program_folder();
  void* module = nullptr;
  std::string why;
  // Its own MPI goes before SimGrid's functions of the same names. It stays: MPI's threads may outlive its world.
  for (const std::string& file : {folder + mpi_module_file, folder + WEFT_MODULES_FROM_PROGRAMS + mpi_module_file}) {
    module = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
    if (module != nullptr) break;
    why = ::dlerror();
  }
  if (module == nullptr) throw InputError(fmt::format("--transport: mpi is not in this build, which found no MPI: {}", why));
  auto* const open = reinterpret_cast<OpenMpi*>(::dlsym(module, mpi_module_entry));
  if (open == nullptr) throw InputError(fmt::format("--transport: {} is not of this build: {}", mpi_module_file, ::dlerror()));
  return std::unique_ptr<MpiModule>(open(settings));
}

}  // namespace weft
