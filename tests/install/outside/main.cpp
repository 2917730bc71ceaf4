#include <iostream>

#include "all_headers.h"

int main() { std::cout << "Lemma " << lemma::version() << "\n"; }
