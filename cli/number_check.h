#pragma once
// What a number on the command line has to be, said in words.

#include <string>

namespace lemma {

/// A check for CLI::Option::check(): empty if the word is a number above 0, or from 0 on; else what is wrong
/// with it.
std::string check_positive(const std::string& word);
std::string check_non_negative(const std::string& word);
/// The same for a number of bytes behind CLI::AsSizeValue, which makes a large number of one below 0.
std::string check_bytes(const std::string& word);
/// The same for a number of threads, of which 0 stands for one for each processor, and for a number of processes.
std::string check_threads(const std::string& word);
std::string check_processes(const std::string& word);

}  // namespace lemma
