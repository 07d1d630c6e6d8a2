// The sizes of a workload: one, a list, or every size from one to another by a factor, as nccl-tests has them (-b, -e, -f).
#pragma once

#include "sim/json/fields.hpp"

namespace weft {

struct SizeRange {
  Bytes from, to;
  int factor = 2;
};

template <>
struct Declared<SizeRange> {
  static Declaration<SizeRange> declaration();
};

struct SizesForm {
  static std::string wanted();
  static Json schema();
  static Json write(const std::vector<Bytes>& sizes) { return OneOrList<Bytes>::write(sizes); }
  static bool read(const Json&, const JsonPath&, Input&, std::vector<Bytes>&);
};

}  // namespace weft
