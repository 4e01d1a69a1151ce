#include "coding/data_hash.h"

#include <algorithm>
#include <tuple>
#include <vector>

#include "coding/cuts.h"

namespace weald {

namespace {

// ---- BLAKE2b (RFC 7693) of several messages of the same length at a time: each lane of a vector is one message

constexpr std::size_t kMessages = 8;
typedef std::uint64_t Words
    __attribute__((vector_size(kMessages * sizeof(std::uint64_t))));  // one word of each message
using Digests = std::array<Words, 8>;                                 // 64 bytes of each message

constexpr std::size_t kBlockWords = 16;
constexpr std::array<std::uint64_t, 8> kStart{0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b,
                                              0xa54ff53a5f1d36f1, 0x510e527fade682d1, 0x9b05688c2b3e6c1f,
                                              0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};
constexpr std::array<std::array<std::uint8_t, 16>, 10> kOrders{{
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
}};
constexpr std::size_t kRounds = 12;

Digests start_digests() {
    Digests state{};
    for (std::size_t i = 0; i < 8; ++i) {
        state[i] = Words{} + kStart[i];
    }
    state[0] ^= 0x01010040;  // 64 bytes of digest, no key
    return state;
}

template <int n>
Words rotate(const Words& words) {
    return (words >> n) | (words << (64 - n));
}

void mix(Words& a, Words& b, Words& c, Words& d, const Words& x, const Words& y) {
    a += b + x;
    d = rotate<32>(d ^ a);
    c += d;
    b = rotate<24>(b ^ c);
    a += b + y;
    d = rotate<16>(d ^ a);
    c += d;
    b = rotate<63>(b ^ c);
}

// `n_bytes`: of the message up to the end of this block.
void compress(Digests& state, const Words* block, std::uint64_t n_bytes, bool is_last) {
    std::array<Words, 16> v;
    std::copy(state.begin(), state.end(), v.begin());
    for (std::size_t i = 0; i < 8; ++i) {
        v[8 + i] = Words{} + (kStart[i] ^ (i == 4 ? n_bytes : i == 6 && is_last ? ~std::uint64_t{0} : 0));
    }
    for (std::size_t round = 0; round < kRounds; ++round) {
        const auto& s = kOrders[round % kOrders.size()];
        mix(v[0], v[4], v[8], v[12], block[s[0]], block[s[1]]);
        mix(v[1], v[5], v[9], v[13], block[s[2]], block[s[3]]);
        mix(v[2], v[6], v[10], v[14], block[s[4]], block[s[5]]);
        mix(v[3], v[7], v[11], v[15], block[s[6]], block[s[7]]);
        mix(v[0], v[5], v[10], v[15], block[s[8]], block[s[9]]);
        mix(v[1], v[6], v[11], v[12], block[s[10]], block[s[11]]);
        mix(v[2], v[7], v[8], v[13], block[s[12]], block[s[13]]);
        mix(v[3], v[4], v[9], v[14], block[s[14]], block[s[15]]);
    }
    for (std::size_t i = 0; i < 8; ++i) {
        state[i] ^= v[i] ^ v[8 + i];
    }
}

// `words` are padded with zeros to whole blocks.
Digests digest(std::span<const Words> words, std::size_t n_words) {
    Digests state = start_digests();
    const std::size_t n_blocks = words.size() / kBlockWords;
    for (std::size_t b = 0; b < n_blocks; ++b) {
        const bool is_last = b + 1 == n_blocks;
        const std::size_t n_read = is_last ? n_words : (b + 1) * kBlockWords;
        compress(state, words.data() + b * kBlockWords, n_read * sizeof(std::uint64_t), is_last);
    }
    return state;
}

// ---- Numbers modulo P = 2^3072 - kBelow

constexpr std::uint64_t kBelow = 1103717;
constexpr std::size_t kLimbs = std::tuple_size_v<RowProduct>;
__extension__ using Wide = unsigned __int128;

// Adds a number to the lowest limb; returns the carry of the highest.
std::uint64_t add_small(RowProduct& product, std::uint64_t number) {
    for (std::size_t i = 0; number != 0 && i < kLimbs; ++i) {
        product[i] += number;
        number = product[i] < number ? 1 : 0;
    }
    return number;
}

bool is_below_prime(const RowProduct& product) {
    return std::any_of(product.begin() + 1, product.end(), [](std::uint64_t limb) { return ~limb != 0; }) ||
           product[0] < ~kBelow + 1;
}

// Subtracting P is adding kBelow and dropping the carry.
void reduce(RowProduct& product) {
    if (!is_below_prime(product)) [[unlikely]] {
        add_small(product, kBelow);
    }
}

// The numbers of rows, from the digests of their words: 384 bytes of digests of (digest, 0), (digest, 1) ...
std::array<RowProduct, kMessages> expand(const Digests& of_rows) {
    std::array<RowProduct, kMessages> numbers;
    std::array<Words, kBlockWords> words{};
    std::copy(of_rows.begin(), of_rows.end(), words.begin());
    for (std::size_t part = 0; part < kLimbs / 8; ++part) {
        words[8] = Words{} + part;
        const Digests found = digest(words, 9);
        for (std::size_t i = 0; i < 8; ++i) {
            for (std::size_t lane = 0; lane < kMessages; ++lane) {
                numbers[lane][8 * part + i] = found[i][lane];
            }
        }
    }
    for (RowProduct& number : numbers) {
        reduce(number);
    }
    return numbers;
}

RowProduct power(RowProduct base, std::uint64_t exponent) {
    RowProduct product = kEmptyProduct;
    for (; exponent != 0; exponent >>= 1) {
        if (exponent & 1) {
            multiply(product, base);
        }
        multiply(base, RowProduct(base));
    }
    return product;
}

template <class Float>
void gather(const Matrix& x, const RowWords& more, std::size_t begin, std::size_t n, std::vector<Words>& words) {
    for (std::size_t f = 0; f < x.n_columns; ++f) {
        for (std::size_t lane = 0; lane < n; ++lane) {
            words[f][lane] = value_bits(static_cast<double>(x.at<Float>(begin + lane, f)));
        }
    }
    for (std::size_t i = 0; i < more.n_words; ++i) {
        for (std::size_t lane = 0; lane < n; ++lane) {
            words[x.n_columns + i][lane] = more.words[(begin + lane) * more.n_words + i];
        }
    }
}

}  // namespace

void multiply(RowProduct& product, const RowProduct& other) {
    std::array<std::uint64_t, 2 * kLimbs> wide{};
    for (std::size_t i = 0; i < kLimbs; ++i) {
        std::uint64_t carry = 0;
        for (std::size_t j = 0; j < kLimbs; ++j) {
            const Wide sum = static_cast<Wide>(product[i]) * other[j] + wide[i + j] + carry;
            wide[i + j] = static_cast<std::uint64_t>(sum);
            carry = static_cast<std::uint64_t>(sum >> 64);
        }
        wide[i + kLimbs] = carry;
    }
    // 2^3072 is kBelow modulo P: the high half counts kBelow times, and so does the carry of that sum.
    std::uint64_t carry = 0;
    for (std::size_t i = 0; i < kLimbs; ++i) {
        const Wide sum = static_cast<Wide>(wide[kLimbs + i]) * kBelow + wide[i] + carry;
        product[i] = static_cast<std::uint64_t>(sum);
        carry = static_cast<std::uint64_t>(sum >> 64);
    }
    while (carry != 0) {
        carry = add_small(product, carry * kBelow);
    }
    reduce(product);
}

RowProduct product_of(const Matrix& x, const RowWords& more, std::span<const std::uint64_t> copies, std::size_t begin,
                      std::size_t end) {
    const std::size_t n_words = x.n_columns + more.n_words;
    std::vector<Words> words(std::max<std::size_t>(1, (n_words + kBlockWords - 1) / kBlockWords) * kBlockWords);
    RowProduct product = kEmptyProduct;
    for (; begin < end; begin += kMessages) {
        const std::size_t n = std::min(kMessages, end - begin);
        x.dispatch([&]<class Float>() { gather<Float>(x, more, begin, n, words); });
        const std::array<RowProduct, kMessages> numbers = expand(digest(words, n_words));
        for (std::size_t lane = 0; lane < n; ++lane) {
            const std::uint64_t times = copies.empty() ? 1 : copies[begin + lane];
            multiply(product, times == 1 ? numbers[lane] : power(numbers[lane], times));
        }
    }
    return product;
}

}  // namespace weald
