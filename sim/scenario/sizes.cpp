#include "sim/scenario/sizes.hpp"

namespace weft {

Declaration<SizeRange> Declared<SizeRange>::declaration() {
  using R = SizeRange;
  return {.doc = "Sizes from \"from\" up to \"to\", each \"factor\" times the one before.",
          .fields = {required("from", &R::from, "The smallest size of the list.", at_least(Bytes{1})),
                     required("to", &R::to, "The largest size; it is one of the list where the factor meets it.", at_least(Bytes{1})),
                     optional("factor", &R::factor, "The factor between one size and the next.", between(2, 1'000'000))}};
}

std::string SizesForm::wanted() { return OneOrList<Bytes>::wanted() + ", or {\"from\": \"8B\", \"to\": \"8GiB\", \"factor\": 2}"; }

Json SizesForm::schema() {
  Json out = OneOrList<Bytes>::schema();
  out["oneOf"].push_back(Form<SizeRange>::schema());
  return out;
}

bool SizesForm::read(const Json& json, const JsonPath& where, Input& in, std::vector<Bytes>& out) {
  if (!json.is_object()) return OneOrList<Bytes>::read(json, where, in, out);
  SizeRange range;
  if (!Form<SizeRange>::read(json, where, in, range)) return false;
  if (range.to < range.from)
    return in.problem(where.in("to"),
                      fmt::format("must be at least \"from\" = {}, got \"{}\"", to_string(range.from), to_string(range.to)));
  out.clear();
  for (Bytes size = range.from;; size = Bytes{size.count * range.factor}) {
    out.push_back(size);
    if (size.count > range.to.count / range.factor) return true;
  }
}

}  // namespace weft
