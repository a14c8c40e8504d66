#include "forge/point_sweep.h"

#include <algorithm>

#include "propose/search.h"

namespace kforge::forge {

Expected<void> sweep_points(const propose::Space& space, const PointSweep& sweep, const JudgePoints& judge) {
  if (space.size() == 0) return {};
  propose::Search search(space, {sweep.seed, std::min(sweep.first, space.size() - 1), {}, {}});
  for (std::size_t done = 0; done < sweep.points;) {
    const auto points = search.ask(std::min(std::max<std::size_t>(sweep.at_once, 1), sweep.points - done));
    if (points.empty()) break;
    const auto times = judge(points);
    if (!times) return Unexpected(times.error());
    for (std::size_t i = 0; i < points.size(); ++i) {
      if ((*times)[i] > 0) search.tell(points[i], (*times)[i], 0);
      else search.tell_invalid(points[i], 0);
    }
    done += points.size();
  }
  return {};
}

}  // namespace kforge::forge
