// N elements that are loaded and stored by one access of at most 16 bytes.
template <class T, int N>
struct Pack {
  T at[N];
};

template <int kBytes>
struct Bits;
template <>
struct Bits<1> {
  using type = unsigned char;
};
template <>
struct Bits<2> {
  using type = unsigned short;
};
template <>
struct Bits<4> {
  using type = unsigned;
};
template <>
struct Bits<8> {
  using type = uint2;
};
template <>
struct Bits<16> {
  using type = uint4;
};

// REQUIRES: `from` is aligned to N elements, in global memory. Intrinsics keep accesses whole: plain ones may be taken apart.
template <int N, class T>
__device__ __forceinline__ Pack<T, N> load(const T* from) {
  using Word = typename Bits<N * sizeof(T)>::type;
  const Word word = __ldca(reinterpret_cast<const Word*>(from));
  Pack<T, N> pack;
  memcpy(&pack, &word, sizeof word);
  return pack;
}

template <int N, class T>
__device__ __forceinline__ void store(T* to, const Pack<T, N>& pack) {
  using Word = typename Bits<N * sizeof(T)>::type;
  Word word;
  memcpy(&word, &pack, sizeof word);
  if constexpr (kStream) __stcs(reinterpret_cast<Word*>(to), word);
  else __stwb(reinterpret_cast<Word*>(to), word);
}

inline bool aligned(const void* pointer, std::size_t bytes) { return reinterpret_cast<std::size_t>(pointer) % bytes == 0; }
