// A search of a discrete space for its least value: ask for points, tell what they gave. It knows nothing of kernels.
//
// A few spread points come first, led by the caller's best guesses; then a surrogate over the logarithms of the values (surrogate.h) ranks
// what is unknown by expected improvement (Jones, Schonlau, Welch 1998) per expected cost, times the chance of being valid. Every
// other step looks only beside the best points known. A prior (a model's value for each point, the cheapest fidelity there is) is the
// surrogate's mean, with slope and offset fitted. Nothing known is asked again; equal seeds and tellings give equal questions.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "propose/space.h"
#include "propose/surrogate.h"

namespace kforge::propose {

struct SearchOptions {
  std::uint64_t seed = 1;
  std::size_t first = 0;               // the point to begin with
  std::vector<double> prior;           // a model's positive value for each point, or empty
  // What an open point will cost beside one of its kind about which nothing is there yet: 1; less where a part of the work is done (it
  // was compiled before, say). Asked of the few most promising points of a question. May be empty.
  std::function<double(std::size_t point)> effort;
  std::vector<std::size_t> then = {};  // points that come after the first, in this order
};

class Search {
 public:
  Search(const Space& space, SearchOptions options);

  // At most `n` points that were neither asked nor told, most promising first; none when the space is done.
  std::vector<std::size_t> ask(std::size_t n);
  // `value`: positive, less is better. `cost`: what it took, any unit; 0: not known.
  void tell(std::size_t point, double value, double cost);
  void tell_invalid(std::size_t point, double cost);          // it gave no value: a dead end
  void tell_pending(std::size_t point);                       // somebody is at it
  // The value that is expected at a point; nothing while neither a value nor a prior is known.
  std::optional<double> expected(std::size_t point);

  std::optional<std::size_t> best() const;
  double best_value() const { return best_value_; }
  std::size_t known() const { return values_.size() + invalid_.size(); }

 private:
  std::vector<std::size_t> open_points() const;
  std::vector<std::size_t> pool();
  std::size_t spread(const std::vector<std::size_t>& open);
  std::size_t promising(const std::vector<std::size_t>& open);
  void learn();
  std::vector<double> prior_of(const std::vector<std::size_t>& points) const;
  std::vector<Prediction> predictions_of(const std::vector<std::size_t>& points) const;
  double chance_of_validity(const std::vector<double>& features) const;
  double expected_cost(const std::vector<double>& features) const;
  std::uint64_t draw(std::uint64_t bound);

  const Space& space_;
  SearchOptions options_;
  std::map<std::size_t, double> values_, costs_;              // logarithms of values
  std::set<std::size_t> invalid_, pending_;
  std::optional<std::size_t> best_;
  double best_value_ = 0;
  Surrogate surrogate_;
  double prior_slope_ = 0, prior_offset_ = 0;
  std::size_t tuned_at_ = 0, learned_at_ = 0, steps_ = 0;
  std::uint64_t draws_ = 0;
};

}  // namespace kforge::propose
