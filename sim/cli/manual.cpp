#include "sim/cli/manual.hpp"

#include "sim/cli/program.hpp"
#include "sim/json/form.hpp"

#include <string_view>

namespace weft {
namespace {

// Text for roff: a hyphen that can be copied, no escapes, no line that is taken for a request.
std::string roff(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) out += "\\&";
    if (c == '-') out += '\\';
    out += c == '\\' ? std::string("\\e") : std::string(1, c);
  }
  return out;
}

std::string sentence(std::string text) {
  if (!text.empty() && std::string_view(".!?").find(text.back()) == std::string_view::npos) text += '.';
  return text;
}

// "\fB\-o\fR, \fB\-\-output\fR \fIDIR\fR", or the name of what stands without a flag.
std::string written(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("\\fB" + roff("-" + name) + "\\fR");
  for (const std::string& name : option.get_lnames()) names.push_back("\\fB" + roff("--" + name) + "\\fR");
  if (names.empty()) return "\\fI" + roff(option.get_name()) + "\\fR";
  std::string out = fmt::format("{}", fmt::join(names, ", "));
  if (!option.get_option_text().empty()) return out + roff(option.get_option_text());
  if (option.get_expected_max() > 0 && !option.get_type_name().empty()) out += " \\fI" + roff(option.get_type_name()) + "\\fR";
  return out;
}

std::string synopsis(const CLI::App& command) {
  std::string out;
  for (const CLI::Option* option : command.get_options())
    if (option->get_positional()) {
      const std::string name = fmt::format("\\fI{}\\fR{}", roff(option->get_name()), option->get_expected_max() > 1 ? "..." : "");
      out += option->get_required() ? " " + name : " [" + name + "]";
    }
  return out + " [\\fIOPTION\\fR]...";
}

std::string described(const CLI::App& command) {
  std::string out = fmt::format(".SS \"weft {}\"\n\\fBweft {}\\fR{}\n.PP\n{}\n", command.get_name(), command.get_name(), synopsis(command),
                                roff(sentence(command.get_description())));
  std::string group = "Options";
  for (const CLI::Option* option : command.get_options()) {
    if (option == command.get_help_ptr()) continue;
    if (const std::string& own = option->get_group(); own != group && !option->get_positional()) {
      out += fmt::format(".PP\n{}:\n", roff(own));
      group = own;
    }
    std::string what = sentence(option->get_description());
    if (const std::string value = option->get_default_str(); !value.empty()) what += fmt::format(" The default is {}.", value);
    out += fmt::format(".TP\n{}\n{}\n", written(*option), roff(what));
  }
  return out;
}

constexpr std::string_view after_the_commands = R"(.SH EXIT STATUS
.TP
0
Everything was done.
.TP
1
A run failed: no progress, wrong data, a peer that was lost, rows that were not simulated.
.TP
2
The input cannot be used. All that is wrong with it is printed, a line for each problem.
.SH ENVIRONMENT
.TP
.B WEFT_DATA_DIR
The folder that holds \fIscenarios\fR and \fIvalidation\fR, instead of share/weft of the installation.
.TP
.B WEFT_JOB_SECRET
What all processes of a \fBweft bench\fR over several hosts must know.
.SH FILES
.TP
.I share/weft/scenarios
Example scenarios, hardware profiles, device profiles, and the JSON Schemas of scenarios and results.
.TP
.I share/weft/validation
Measurements and published figures that \fBweft validate\fR compares with.
)";

}  // namespace

std::string help_of(const CLI::App& app, const std::string& command) {
  // CLI11's own help() would explain the command that was parsed last, which is this one.
  if (command.empty()) return app.get_formatter()->make_help(&app, app.get_name(), CLI::AppFormatMode::Normal);
  std::vector<std::string> names;
  for (const CLI::App* known : commands_of(app)) {
    names.push_back(known->get_name());
    if (known->get_name() == command) return known->help(app.get_name());
  }
  throw InputError("weft help: " + unknown_name("command", command, names));
}

std::string man_page(const CLI::App& app, const std::string& version) {
  std::string out = fmt::format(
      ".TH WEFT 1 \"\" \"weft {}\" \"User Commands\"\n.SH NAME\nweft \\- {}\n.SH SYNOPSIS\n\\fBweft\\fR \\fICOMMAND\\fR "
      "[\\fIARGUMENT\\fR]...\n.PP\n\\fBweft help\\fR [\\fICOMMAND\\fR]\n.SH DESCRIPTION\n{}\n.PP\n"
      "A scenario is a JSON file: a cluster, and what it is to do. \\fBweft run\\fR simulates it, \\fBweft bench\\fR runs the same "
      "algorithms for real.\n.SH COMMANDS\n",
      version, roff("simulate collective operations on GPU clusters, and run them"), roff(sentence(app.get_description())));
  for (const CLI::App* command : commands_of(app)) out += described(*command);
  return out.append(after_the_commands);
}

}  // namespace weft
