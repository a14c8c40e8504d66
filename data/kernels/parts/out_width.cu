constexpr int kOutSizes[] = {2{{#vector_pointers}}, static_cast<int>(sizeof({{{type}}})){{/vector_pointers}}};
constexpr int widest_of() {
  int widest = 2;
  for (const int size : kOutSizes) widest = size > widest ? size : widest;
  return widest;
}
constexpr int kOutWidth = 16 / widest_of();   // elements of an output vector: 16 bytes of the widest tensor
