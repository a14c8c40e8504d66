// What a series of timed calls says: order statistics alone, since times are neither normal nor free of outliers.
#pragma once

#include <cstddef>
#include <vector>

namespace kforge::gpu {

// Of a series in any order; 0 when it is empty.
double median(std::vector<double> values);
// The smallest value that at least `part` of the series does not exceed (nearest rank); 0 when it is empty.
double quantile(std::vector<double> values, double part);
// Interquartile range over the median.
double spread(const std::vector<double>& values);
// Width of the median's 95% confidence interval over the median: between the order statistics (n -+ 1.96 sqrt n) / 2 (binomial
// distribution of the ranks, normal approximation; Conover, Practical Nonparametric Statistics, 3.2). 1 for fewer than 10 values.
double median_interval(std::vector<double> values);

}  // namespace kforge::gpu
