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

template <class Word>
__device__ __forceinline__ Word load_word(const Word* from) {
  Word word;
  if constexpr (sizeof(Word) == 16) asm("ld.global.v4.u32 {%0, %1, %2, %3}, [%4];" : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w) : "l"(from));
  else if constexpr (sizeof(Word) == 8) asm("ld.global.v2.u32 {%0, %1}, [%2];" : "=r"(word.x), "=r"(word.y) : "l"(from));
  else word = *from;
  return word;
}

// REQUIRES: `from` is aligned to N elements, in global memory, and what is there does not change meanwhile. Accesses stay whole: those of C++ may be
// taken apart, and intrinsics with a cache operator order more than is needed.
template <int N, class T>
__device__ __forceinline__ Pack<T, N> load(const T* from) {
  using Word = typename Bits<N * sizeof(T)>::type;
  const Word word = load_word(reinterpret_cast<const Word*>(from));
  Pack<T, N> pack;
  memcpy(&pack, &word, sizeof word);
  return pack;
}
// The same for what this kernel reads once: with kStream 2 it is the first to leave the caches.
template <class Word>
__device__ __forceinline__ Word load_word_once(const Word* from) {
  if constexpr (kStream < 2) return load_word(from);
  else return __ldcs(from);
}
template <int N, class T>
__device__ __forceinline__ Pack<T, N> load_once(const T* from) {
  using Word = typename Bits<N * sizeof(T)>::type;
  const Word word = load_word_once(reinterpret_cast<const Word*>(from));
  Pack<T, N> pack;
  memcpy(&pack, &word, sizeof word);
  return pack;
}

template <int N, class T>
__device__ __forceinline__ void store(T* to, const Pack<T, N>& pack) {
  using Word = typename Bits<N * sizeof(T)>::type;
  Word word;
  memcpy(&word, &pack, sizeof word);
  if constexpr (kStream > 0) __stcs(reinterpret_cast<Word*>(to), word);
  else __stwb(reinterpret_cast<Word*>(to), word);
}

inline bool aligned(const void* pointer, std::size_t bytes) { return reinterpret_cast<std::size_t>(pointer) % bytes == 0; }
