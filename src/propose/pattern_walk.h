// What a reference does to its arrays: an abstract run of its tree. Integers are polynomials over sizes and loop counters, so that an
// access knows which loop runs along memory and how far its neighbours are; floating values know the loads that they come from.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "syntax/polynomial.h"

namespace kforge::propose::pattern {

using syntax::Polynomial;

struct Loop {
  std::string counter;       // unique name
  bool constant = false;     // runs a fixed number of times
};

// Where a floating value comes from.
struct Origin {
  std::set<std::string> arrays;
  std::set<std::string> gathered;   // accumulators that it depends on
  bool exponential = false, root = false, quotient = false, difference = false, square = false, other_function = false;
  bool extreme = false;             // a maximum or minimum of data
  bool indexed = false;             // goes together with a loop counter: {value, i}
  void add(const Origin& other);
};

struct Access {
  std::string array;
  Polynomial index;
  bool by_data = false;             // the index comes from data
  std::vector<std::string> loops;   // counters of the loops around it, outermost first
  Origin origin;                    // store: of the value
  std::vector<int> factors;         // store: loads that the value is a product of
  bool updates = false;             // store: += or the like, or guarded by its own element
  bool counts = false;              // store: adds the constant one
  bool guarded = false;             // under a condition on data
  bool copies = false;              // store: the value is one load, unchanged
  int copied = -1;                  // that load
};

enum class Gather { sum, product, extreme };

struct Accumulation {
  Gather kind = Gather::sum;
  std::string accumulator;          // a scalar, or an array
  Polynomial index;                 // of an array
  std::set<std::string> along;      // counters of the loops that it gathers over
  std::vector<std::string> loops;   // around it
  Origin origin;                    // of what is gathered
  std::vector<int> factors;         // loads multiplied
};

struct Facts {
  bool found = false;               // the function was there and could be followed
  std::vector<std::string> inputs, outputs;   // pointer parameters by use
  std::map<std::string, Loop> loops;
  std::vector<Access> loads, stores;
  std::vector<Accumulation> gathered;
  std::set<std::string> calls;      // of functions that the file does not define
  bool chooses_index = false;       // a counter is kept because of a comparison of data
  bool exchanges = false;           // elements of one array change places because of their values
  bool carries = false;             // a result is stored at each step of the loop that gathers it
};

// Of a reference's text. `function`: the reference's; where it is not there, the last one of the file.
Facts follow(std::string_view text, std::string_view function);

}  // namespace kforge::propose::pattern
