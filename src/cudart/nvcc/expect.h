// The smallest test harness that a CUDA program can carry: each wrong answer is a line on stdout, and the exit status.
#pragma once

#include <cmath>
#include <cstdio>

inline int failures = 0;

template <class A, class B>
void expect(const A& got, const B& wanted, const char* text, int line) {
  if (got == static_cast<A>(wanted)) return;
  std::printf("line %d: %s is %lld, not %lld\n", line, text, static_cast<long long>(got), static_cast<long long>(wanted));
  ++failures;
}
#define EXPECT(expression, wanted) expect(expression, wanted, #expression, __LINE__)
