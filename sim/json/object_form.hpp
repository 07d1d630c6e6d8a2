// How an object is read, written and described whose struct is not known here: compiled once for all of them. Form<S> of fields.hpp makes
// one from the declaration of S.
#pragma once

#include "sim/json/form.hpp"

#include <cstddef>
#include <set>

namespace weft {

// One key; `object` points to the whole struct.
struct ObjectField {
  std::string name;
  std::string doc;
  bool is_required = false;
  std::vector<std::string> unless = {};                    // not required where one of these keys is
  std::function<bool(const Json& object)> spared_by = {};  // nor where this holds
  std::function<bool(const Json&, const JsonPath&, Input&, void* object)> read = {};
  std::function<Json(const void* object)> write = {};  // discarded: the key is left out
  std::function<Json()> schema = {};
  std::string wanted = {};
  bool default_is_elsewhere = false;  // another key says what it is when not given; a default-constructed object does not
};

// How a member of type T is read and written by F; what a member belongs to is not known.
class MemberForm {
 public:
  virtual ~MemberForm() = default;
  virtual bool read(const Json& json, const JsonPath& where, Input& in, void* member) const = 0;
  virtual Json write(const void* member) const = 0;
  virtual Json schema() const = 0;
  virtual std::string wanted() const = 0;
};

// The member `offset` bytes behind the beginning of the struct.
ObjectField field_of_member(std::string_view name, std::string_view doc, bool is_required, std::ptrdiff_t offset,
                            std::unique_ptr<const MemberForm> form);

// The fields of a part, as fields of the whole in which `part` finds it.
std::vector<ObjectField> lifted(const std::vector<ObjectField>& fields, std::function<void*(void* whole)> part);

// "-1Gbps" without its sign; nothing of what is no such text.
std::optional<std::string> without_sign(const Json& json);

// Says between which ends a value must lie; "" where there is none.
bool out_of_range(const std::string& low, const std::string& high, const Json& found, const JsonPath& where, Input& in);

struct ObjectAlternative {
  std::string name;  // of the tag
  std::string doc;
  std::vector<ObjectField> fields;
  std::function<void(void* object)> select;
  std::function<bool(const void* object)> selected;
  std::function<bool(const Json&, const JsonPath&, Input&)> also;
};

struct ObjectForm {
  std::string doc;
  std::vector<ObjectField> fields;
  std::string tag;  // the key that chooses the alternative; empty: there are none
  std::vector<ObjectAlternative> alternatives;
  bool shorthand = false;
  std::shared_ptr<void> (*make)() = nullptr;  // one with the struct's defaults

  std::string wanted() const;
  bool read(const Json& json, const JsonPath& where, Input& in, void* out) const;
  Json write(const void* value) const;
  Json schema() const;

 private:
  using Fields = std::vector<const ObjectField*>;

  std::vector<std::string> alternative_names() const;
  const ObjectAlternative* choose(const Json& json, const JsonPath& where, Input& in) const;
  Fields fields_of(const ObjectAlternative* chosen) const;
  std::string shapes_of(const std::string& name) const;
  bool is_key_of(const std::string& name, const std::string& key) const;
  bool asks_for_shape(const ObjectAlternative& chosen, const Json& json) const;
  bool refuse_unknown_keys(const Json& json, const ObjectAlternative* chosen, const JsonPath& where, Input& in,
                           std::set<std::string>& meant) const;
  Json object_schema(const ObjectAlternative* chosen) const;
};

}  // namespace weft
