#include "collectives/transports/mpi_module.hpp"

namespace weft {
namespace {

class Module final : public MpiModule {
 public:
  explicit Module(const MpiSettings& settings) : world_(settings) {}
  Rank rank() const override { return world_.rank(); }
  int ranks() const override { return world_.ranks(); }
  Transport& at(int channel) override { return world_.at(channel); }
  void fail(const std::string& reason) override { world_.fail(reason); }
  [[noreturn]] void abort() override { world_.abort(); }

 private:
  MpiWorld world_;
};

}  // namespace
}  // namespace weft

extern "C" weft::MpiModule* weft_open_mpi(const weft::MpiSettings& settings);
weft::MpiModule* weft_open_mpi(const weft::MpiSettings& settings) { return new weft::Module(settings); }
