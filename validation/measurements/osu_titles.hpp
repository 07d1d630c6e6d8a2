// The lines of # above a table of the OSU micro-benchmarks: which of them is its title, and what that says.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace weft {

// A benchmark of OSU's that Weft simulates.
struct OsuBenchmark {
  std::string_view program;     // "osu_allreduce"
  std::string_view title;       // "Allreduce Latency": what its first line says between the library and "Test"
  std::string_view collective;  // as in Measurement
  bool size_of_a_rank = false;
};
std::span<const OsuBenchmark> osu_benchmarks();

// What a refusal says of another one: "... is none of the OSU benchmarks that Weft simulates: osu_latency, ...".
std::string unknown_osu_benchmark(std::string_view found);

constexpr std::string_view osu_title = "# OSU";
constexpr std::string_view title_of_pairs = "Multiple Bandwidth / Message Rate";  // osu_mbw_mr's name

// "OSU MPI-CUDA Allreduce Latency Test v7.5" is "Allreduce Latency". The library is MPI, NCCL or the like, one word; one-sided
// tests have the operation in it ("OSU MPI_Put Latency Test"), and so are none of the above.
std::string osu_name_in(std::string_view title);

// Null if Weft simulates none of this title, without its #.
const OsuBenchmark* osu_benchmark_titled(std::string_view title);

// Its library is "MPI-CUDA", "MPI-ROCM", "NCCL" or the like.
bool is_of_device_library(std::string_view title);

bool names_osu_columns(std::string_view line);

// "# OSU Benchmarks", a comment of a script, is none: its lines of # are not of a table.
bool is_osu_title(std::span<const std::string_view> lines, std::size_t line);

}  // namespace weft
