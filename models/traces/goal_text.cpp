#include "kernels/base/gather.hpp"
#include "models/traces/goal.hpp"
#include "models/traces/goal_rank.hpp"

#include <array>
#include <cctype>
#include <charconv>
#include <utility>

namespace weft {
namespace {

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-'; }

// Words and single signs, with the line they stand in; comments are left out.
class Tokens {
 public:
  Tokens(std::string_view text, const std::string& file) : text_(text), file_(file) { next(); }

  std::string_view now() const { return now_; }
  std::uint64_t line() const { return line_; }
  bool at_end() const { return now_.empty(); }
  std::string_view take() {
    const std::string_view taken = now_;
    next();
    return taken;
  }
  bool take_if(std::string_view word) {
    if (now_ != word) return false;
    next();
    return true;
  }
  void expect(std::string_view word) {
    if (!take_if(word)) refuse(fmt::format("must be \"{}\", got \"{}\"", word, now_));
  }
  [[noreturn]] void refuse(const std::string& what) const { throw InputError(fmt::format("{}: line {}: {}", file_, line_, what)); }

  // A number from 0 to `most`, which may be followed by `unit`.
  std::uint64_t number(const char* what, std::uint64_t most, std::string_view unit = {}) {
    std::string_view digits = now_;
    if (!unit.empty() && digits.ends_with(unit)) digits.remove_suffix(unit.size());
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc{} || end != digits.data() + digits.size() || value > most)
      refuse(fmt::format("{} must be a whole number from 0 to {}{}, got \"{}\"", what, most, unit, now_));
    const bool has_unit = digits.size() < now_.size();
    next();
    if (!unit.empty() && !has_unit) expect(unit);
    return value;
  }

 private:
  void next() {
    skip_space();
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_word(text_[at_])) ++at_;
    if (at_ == begin && at_ < text_.size()) ++at_;
    now_ = text_.substr(begin, at_ - begin);
  }
  void skip_space() {
    while (at_ < text_.size()) {
      if (std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
        line_ += text_[at_++] == '\n' ? 1 : 0;
      } else if (text_.substr(at_, 2) == "//") {
        at_ = std::min(text_.find('\n', at_), text_.size());
      } else if (text_.substr(at_, 2) == "/*") {
        const std::size_t end = text_.find("*/", at_ + 2);
        if (end == std::string_view::npos) {
          at_ = text_.size(), now_ = {};
          refuse("the comment does not end");
        }
        line_ += static_cast<std::uint64_t>(
            std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_), text_.begin() + static_cast<std::ptrdiff_t>(end), '\n'));
        at_ = end + 2;
      } else {
        return;
      }
    }
  }

  std::string_view text_;
  const std::string& file_;
  std::string_view now_ = {};
  std::size_t at_ = 0;
  std::uint64_t line_ = 1;
};

class GoalReader {
 public:
  GoalReader(std::string_view text, const std::string& file) : in_(text, file), file_(file) {}

  TraceFile read() {
    TraceFile out;
    gather(problems_, [&] { out = read_ranks(); });
    if (!problems_.empty()) throw InputError(std::move(problems_));
    return out;
  }

 private:
  TraceFile read_ranks() {
    in_.expect("num_ranks");
    if (!in_.at_end() && in_.now().find_first_not_of('0') == std::string_view::npos) in_.refuse("the number of ranks must be at least 1");
    ranks_ = static_cast<std::int64_t>(in_.number("the number of ranks", max_goal_ranks));
    std::vector<bool> seen(static_cast<std::size_t>(ranks_));
    TraceFile out{.format = "GOAL", .world = static_cast<int>(ranks_)};
    while (!in_.at_end()) {
      in_.expect("rank");
      const auto rank = in_.number("a rank", static_cast<std::uint64_t>(ranks_) - 1);
      if (seen[rank]) in_.refuse(fmt::format("rank {} has been described already", rank));
      seen[rank] = true;
      out.ranks.push_back(read_rank(static_cast<Rank>(rank)));
    }
    if (const auto left_out = std::ranges::count(seen, false); left_out > 0)  // those that do nothing may be
      out.notes.push_back(fmt::format("{}: {} of the {} ranks are not described, and do nothing", file_, left_out, ranks_));
    for (std::size_t rank = 0; rank < seen.size(); ++rank)
      if (!seen[rank]) out.ranks.push_back({.rank = static_cast<Rank>(rank), .file = file_, .record_name = "line"});
    return out;
  }

  TracedRank read_rank(Rank rank) {
    GoalRank out(rank, file_, "line");
    labels_.clear();
    in_.expect("{");
    while (!in_.take_if("}")) {
      if (in_.at_end()) in_.refuse(fmt::format("rank {} does not end: \"}}\" is missing", rank));
      const std::uint64_t line = in_.line();
      const std::size_t known = problems_.size();
      gather(problems_, [&] { read_item(out); });
      if (problems_.size() == known) continue;
      if (problems_.size() >= max_problems_of_a_file) throw InputError(std::exchange(problems_, {}));
      while (!in_.at_end() && in_.line() == line && in_.now() != "}") in_.take();  // goes on behind the line
    }
    return problems_.empty() ? out.finish() : TracedRank{};
  }

  void read_item(GoalRank& out) {
    if (is_operation(in_.now())) {
      read_operation(out);
      return;
    }
    const std::string_view label = in_.take();
    if (label.empty() || !is_word(label.front())) in_.refuse(fmt::format("must be an operation or a label, got \"{}\"", label));
    if (in_.take_if(":")) {
      if (!labels_.emplace(label, out.count()).second) in_.refuse(fmt::format("label {} is used twice", label));
      read_operation(out);
    } else if (in_.take_if("requires")) {
      const std::uint32_t operation = labelled(label);
      out.wait_for_end(operation, labelled(in_.take()));
    } else if (in_.take_if("irequires")) {
      const std::uint32_t operation = labelled(label);
      out.wait_for_start(operation, labelled(in_.take()));
    } else {
      in_.refuse(fmt::format("after the label {} must come \":\", requires or irequires, got \"{}\"", label, in_.now()));
    }
  }

  static bool is_operation(std::string_view word) { return word == "send" || word == "recv" || word == "calc"; }

  std::uint32_t labelled(std::string_view label) const {
    const auto at = labels_.find(label);
    if (at == labels_.end()) in_.refuse(fmt::format("no operation before has the label \"{}\"", label));
    return at->second;
  }

  // One that cannot be read counts all the same: others may wait for it.
  void read_operation(GoalRank& out) {
    TracedOperation o{.record = in_.line()};
    gather(problems_, [&] { read_into(o); });
    out.add(o);
  }

  void read_into(TracedOperation& o) {
    if (!is_operation(in_.now())) in_.refuse(fmt::format("must be send, recv or calc, got \"{}\"", in_.now()));
    const std::string_view word = in_.take();
    if (word == "calc") {
      o.duration = {static_cast<std::int64_t>(in_.number("a time in ns", longest_goal_ns)) * 1000};
      o.unit = 0;
    } else {
      o.kind = word == "send" ? TracedOperation::Kind::send : TracedOperation::Kind::receive;
      o.bytes = static_cast<std::int64_t>(in_.number("a size in bytes", static_cast<std::uint64_t>(max_traced_bytes), "b"));
      in_.expect(word == "send" ? "to" : "from");
      o.peer = word == "recv" && in_.take_if("-1") ? TracedOperation::any_rank
                                                   : static_cast<Rank>(in_.number("a rank", static_cast<std::uint64_t>(ranks_) - 1));
    }
    for (bool more = true; more;) {
      constexpr std::uint64_t most = std::numeric_limits<int>::max();
      if (in_.take_if("tag"))
        o.tag = o.kind == TracedOperation::Kind::receive && in_.take_if("-1") ? TracedOperation::any_tag
                                                                              : static_cast<int>(in_.number("a tag", most));
      else if (in_.take_if("cpu"))
        set_cpu(o, static_cast<int>(in_.number("a CPU", most)));
      else if (in_.take_if("nic"))
        in_.number("a NIC", most);
      else
        more = false;
    }
  }

  static void set_cpu(TracedOperation& o, int cpu) {
    if (o.kind == TracedOperation::Kind::compute) o.unit = cpu;
  }

  Tokens in_;
  const std::string& file_;
  std::int64_t ranks_ = 0;
  std::vector<std::string> problems_ = {};
  std::unordered_map<std::string_view, std::uint32_t> labels_;
};

}  // namespace

bool looks_like_goal_text(std::string_view text) {
  const std::string begin(text.substr(0, 1 << 16));
  try {
    return Tokens(begin, begin).now() == "num_ranks";
  } catch (const InputError&) {
    return false;
  }
}

TraceFile parse_goal_text(std::string_view text, const std::string& file) { return GoalReader(text, file).read(); }

}  // namespace weft
