#include "collectives/transports/job_secret.hpp"

#include "kernels/base/error.hpp"
#include "kernels/testing/scratch_folder.hpp"

#include <filesystem>
#include <string_view>

#include <doctest/doctest.h>

using namespace weft;

namespace {

std::string hex(const Proof& p) {
  std::string out;
  for (const std::byte b : p) out += fmt::format("{:02x}", std::to_integer<int>(b));
  return out;
}
std::string hashed(std::string_view key, std::string_view message) {
  return hex(keyed_hash(std::as_bytes(std::span(key)), std::as_bytes(std::span(message))));
}

}  // namespace

TEST_CASE("job secret: the keyed hash is HMAC-SHA-256, by the cases 1, 2, 6 and 7 of RFC 4231") {
  CHECK(hashed(std::string(20, '\x0b'), "Hi There") == "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  CHECK(hashed("Jefe", "what do ya want for nothing?") == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  CHECK(hashed(std::string(131, '\xaa'), "Test Using Larger Than Block-Size Key - Hash Key First") ==
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  CHECK(hashed(std::string(131, '\xaa'),
               "This is a test using a larger than block-size key and a larger than block-size data. The key needs to be hashed before "
               "being used by the HMAC algorithm.") == "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}

TEST_CASE("job secret: one changed bit anywhere is seen, and no two secrets are the same") {
  const Proof a = keyed_hash({}, {});
  CHECK(equal_in_constant_time(a, keyed_hash({}, {})));
  for (std::size_t i = 0; i < a.size(); ++i) {
    Proof b = a;
    b[i] ^= std::byte{1};
    CHECK_FALSE(equal_in_constant_time(a, b));
  }
  CHECK(random_secret().size() == 32);
  CHECK(random_secret() != random_secret());
}

TEST_CASE("job secret: it is the content of a file, and a file without one is refused") {
  const ScratchFolder folder;
  const std::string path = folder / "secret";
  const auto holding = [&](const std::string& text) { return folder.file("secret", text).string(); };
  CHECK(secret_in_file(holding("open sesame\r\n")) == "open sesame");
  CHECK(secret_in_file(holding(std::string(4096, 'x'))).size() == 4096);
  CHECK_THROWS_WITH_AS(secret_in_file(holding(std::string(4097, 'x'))), (path + ": a job's secret is at most 4096 bytes").c_str(),
                       InputError);
  CHECK_THROWS_WITH_AS(secret_in_file(holding("\n")), (path + ": holds no secret, it is empty").c_str(), InputError);
  std::filesystem::remove(path);
  CHECK_THROWS_WITH_AS(secret_in_file(path), ("the job's secret cannot be read from " + path + ": No such file or directory").c_str(),
                       InputError);
}
