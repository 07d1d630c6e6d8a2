#include "sim/cli/plot_command.hpp"

#include "kernels/files/files.hpp"
#include "kernels/files/output_files.hpp"
#include "sim/cli/commands.hpp"
#include "sim/files/utf8.hpp"

#include <ostream>

namespace weft {
namespace {

PlotFormat format_of(const std::string& file) {
  const std::string extension = std::filesystem::path(file).extension().string();
  if (extension == ".svg") return PlotFormat::svg;
  if (extension == ".pdf") return PlotFormat::pdf;
  if (extension == ".gp") return PlotFormat::script;
  throw InputError(fmt::format("-o {}: must end in .svg, .pdf, or .gp for a script of gnuplot", file));
}

bool is_figure(std::string_view text) {
  return text.starts_with("%PDF-") || text.starts_with("# Written by weft plot.") || text.find("<svg") < 600;
}

std::optional<bool> scale_of(bool log, bool linear, const char* axis) {
  if (log && linear) throw InputError(fmt::format("weft plot: give one of --log-{0} and --linear-{0}", axis));
  if (!log && !linear) return std::nullopt;
  return log;
}

}  // namespace

void declare_plot(CLI::App& command, PlotArguments& a) {
  command.add_option("FILE", a.file, "A table with a header: results.csv of weft run -o")->required();
  command.add_option("--x", a.choice.x, "The column along the figure: numbers give lines, words give bars")
      ->required()
      ->type_name("COLUMN");
  command.add_option("--y", a.choice.y, "The column of the values")->capture_default_str()->type_name("COLUMN");
  command
      .add_option("--by", a.choice.by, "The swept columns by which series are told apart; by default those that differ and were asked for")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->type_name("COLUMN,...");
  command.add_option("--where", a.choice.where, "Only lines with this value, column=value (may be repeated)")
      ->allow_extra_args(false)
      ->type_name("COLUMN=VALUE");
  command.add_option("--title", a.choice.title, "A title above the figure")->type_name("TEXT");
  command.add_flag("--log-x", a.log_x, "Logarithmic along the figure; by default where values span more than a factor of 20");
  command.add_flag("--log-y", a.log_y, "Logarithmic upwards");
  command.add_flag("--linear-x", a.linear_x, "Linear along the figure");
  command.add_flag("--linear-y", a.linear_y, "Linear upwards");
  command.add_option("-o,--output", a.output, "Write the figure here: FILE.svg, FILE.pdf, or FILE.gp for a script of gnuplot")
      ->required()
      ->type_name("FILE");
  command.add_flag("--force", a.force, "Replace a file that is not a figure");
}

int plot_command(const PlotArguments& a, std::ostream& out) {
  const PlotFormat format = format_of(a.output);
  PlotChoice choice = a.choice;
  choice.log_x = scale_of(a.log_x, a.linear_x, "x");
  choice.log_y = scale_of(a.log_y, a.linear_y, "y");
  refuse_to_replace({{.file = a.output, .argument = "-o " + a.output, .what = "a figure", .replaces = is_figure}}, {a.file}, a.force);
  refuse_missing_folder("-o " + a.output, a.output);
  const std::string script = plot_script(parse_csv(as_utf8(read_file(a.file)), a.file), choice, format);
  write_file(a.output, format == PlotFormat::script ? script : drawn_by_gnuplot(script));
  out << a.output << "\n";
  return exit_ok;
}

}  // namespace weft
