#include "tree/link_strengths.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>

#include "base/int128.h"

namespace weald {

namespace {

constexpr int kSumBits = 128;    // of the largest decrease, or more if the smallest would lose bits
constexpr int kDoubleBits = 53;  // of a mantissa
constexpr int kMeanBits = 64;    // two different means of fewer than 2^32 integers differ by more than 2^-64
constexpr int kCountBits = 32;
constexpr int kUsualBits = 256;
constexpr int kMostBits = 2304;  // decreases from the smallest to the largest double

// An integer of n words, the lowest first.
template <std::size_t kWords>
class Wide {
  public:
    // mantissa * 2^shift; the shift is not negative.
    static Wide shifted(std::uint64_t mantissa, int shift) {
        Wide found;
        const auto word = static_cast<std::size_t>(shift / 64);
        const int bit = shift % 64;
        found.words_[word] = mantissa << bit;
        if (bit > 0 && word + 1 < kWords) {
            found.words_[word + 1] = mantissa >> (64 - bit);
        }
        return found;
    }
    Wide& operator+=(const Wide& other) {
        std::uint64_t carry = 0;
        for (std::size_t i = 0; i < kWords; ++i) {
            const UInt128 sum = static_cast<UInt128>(words_[i]) + other.words_[i] + carry;
            words_[i] = static_cast<std::uint64_t>(sum);
            carry = static_cast<std::uint64_t>(sum >> 64);
        }
        return *this;
    }
    // floor(this * 2^kMeanBits / n)
    Wide mean(std::uint64_t n) const {
        static_assert(kMeanBits == 64);
        Wide found;
        std::uint64_t rest = words_[kWords - 1];
        for (std::size_t i = kWords - 1; i > 0; --i) {
            divide(rest, words_[i - 1], n, found.words_[i]);
        }
        divide(rest, 0, n, found.words_[0]);
        return found;
    }
    friend bool operator<(const Wide& a, const Wide& b) {
        return std::lexicographical_compare(a.words_.rbegin(), a.words_.rend(), b.words_.rbegin(), b.words_.rend());
    }
    friend bool operator==(const Wide& a, const Wide& b) { return a.words_ == b.words_; }

    // The double nearest to this * 2^exponent; ties to even, subnormal numbers included.
    double nearest(int exponent) const {
        std::size_t top = kWords;
        while (top > 0 && words_[top - 1] == 0) {
            --top;
        }
        if (top == 0) {
            return 0;
        }
        const int n_bits = static_cast<int>(top) * 64 - std::countl_zero(words_[top - 1]);
        constexpr int kSmallest = std::numeric_limits<double>::min_exponent - kDoubleBits;  // of the last bit
        const int dropped = std::max({n_bits - kDoubleBits, kSmallest - exponent, 0});
        std::uint64_t kept = dropped > n_bits ? 0 : bits_from(dropped);
        if (dropped > 0 && dropped <= n_bits && bit(dropped - 1) && ((kept & 1) != 0 || any_below(dropped - 1))) {
            ++kept;
        }
        return std::ldexp(static_cast<double>(kept), exponent + dropped);
    }

  private:
    static void divide(std::uint64_t& rest, std::uint64_t low, std::uint64_t n, std::uint64_t& quotient) {
        const UInt128 both = static_cast<UInt128>(rest) << 64 | low;
        quotient = static_cast<std::uint64_t>(both / n);
        rest = static_cast<std::uint64_t>(both % n);
    }
    bool bit(int i) const { return (words_[static_cast<std::size_t>(i / 64)] >> (i % 64) & 1) != 0; }
    bool any_below(int end) const {
        const auto word = static_cast<std::size_t>(end / 64);
        const bool any = std::any_of(words_.begin(), words_.begin() + static_cast<std::ptrdiff_t>(word),
                                     [](std::uint64_t w) { return w != 0; });
        return any || (words_[word] & ((std::uint64_t{1} << (end % 64)) - 1)) != 0;
    }
    // The bits from `begin` on, which are at most 53.
    std::uint64_t bits_from(int begin) const {
        const auto word = static_cast<std::size_t>(begin / 64);
        if (word >= kWords) {
            return 0;
        }
        const int bit = begin % 64;
        const std::uint64_t above = bit > 0 && word + 1 < kWords ? words_[word + 1] << (64 - bit) : 0;
        return words_[word] >> bit | above;
    }

    std::array<std::uint64_t, kWords> words_{};
};

// The range of the exponents of the decreases.
struct Exponents {
    int least = std::numeric_limits<int>::max();
    int most = std::numeric_limits<int>::min();

    explicit Exponents(const PrunedTree& tree) {
        for (std::size_t node = 0; node < tree.kept.size(); ++node) {
            if (tree.kept[node] != 0 && tree.decrease[node] > 0) {
                int exponent;
                std::frexp(tree.decrease[node], &exponent);
                least = std::min(least, exponent);
                most = std::max(most, exponent);
            }
        }
        if (least > most) {
            least = most = 0;
        }
    }
    int shift() const { return std::max(kSumBits - most, kDoubleBits - least); }
    int n_bits() const { return most + shift() + kMeanBits + kCountBits; }
};

template <std::size_t kWords>
class Branches {
  public:
    using Number = Wide<kWords>;

    Branches(const PrunedTree& tree, int shift)
        : tree_(tree),
          shift_(shift),
          totals_(tree.kept.size()),
          means_(tree.kept.size()),
          counts_(tree.kept.size()),
          below_(tree.kept.size()) {}

    std::vector<double> strengths() {
        const std::size_t n = tree_.kept.size();
        for (std::size_t node = n; node-- > 0;) {
            if (tree_.kept[node] != 0) {
                join(node);
            }
        }
        std::vector<double> found(n, -std::numeric_limits<double>::infinity());
        for (std::size_t node = 0; node < n; ++node) {  // a node comes before its children
            if (tree_.kept[node] == 0) {
                continue;
            }
            for (const std::size_t child : children(node)) {  // a branch is pruned with the branch that contains it
                if (means_[node] < means_[child]) {
                    means_[child] = means_[node];
                }
            }
            found[node] = means_[node].nearest(-(shift_ + kMeanBits));
        }
        return found;
    }

  private:
    struct Group {
        Number mean;
        std::size_t node;
        // Of a heap: the strongest group is on top, of equal ones the first.
        friend bool operator<(const Group& a, const Group& b) {
            return a.mean < b.mean || (a.mean == b.mean && a.node > b.node);
        }
    };
    using Heap = std::vector<Group>;

    std::array<std::size_t, 2> children(std::size_t node) const {
        return {node + 1, static_cast<std::size_t>(tree_.right[node])};
    }

    Number decrease(std::size_t node) const {
        int exponent;
        const double mantissa = std::frexp(tree_.decrease[node], &exponent);
        const auto whole = static_cast<std::uint64_t>(std::ldexp(mantissa, kDoubleBits));
        return whole == 0 ? Number() : Number::shifted(whole, exponent + shift_ - kDoubleBits);
    }

    // A split joins the strongest groups below it that are at least as strong.
    void join(std::size_t node) {
        Number total = decrease(node);
        std::uint64_t count = 1;
        Number mean = total.mean(count);
        Heap heap;
        for (const std::size_t child : children(node)) {
            if (tree_.kept[child] != 0) {
                heap.push_back({means_[child], child});
            }
        }
        std::make_heap(heap.begin(), heap.end());
        while (!heap.empty() && !(heap.front().mean < mean)) {
            std::pop_heap(heap.begin(), heap.end());
            const std::size_t group = heap.back().node;
            heap.pop_back();
            total += totals_[group];
            count += counts_[group];
            mean = total.mean(count);
            meld(heap, std::exchange(below_[group], {}));
        }
        totals_[node] = total;
        counts_[node] = count;
        below_[node] = std::move(heap);
        means_[node] = mean;
    }

    // Adds the smaller heap to the larger one.
    static void meld(Heap& heap, Heap other) {
        if (heap.size() < other.size()) {
            heap.swap(other);
        }
        for (const Group& group : other) {
            heap.push_back(group);
            std::push_heap(heap.begin(), heap.end());
        }
    }

    const PrunedTree& tree_;
    int shift_;
    std::vector<Number> totals_;
    std::vector<Number> means_;  // of the branch below a split when it is pruned
    std::vector<std::uint64_t> counts_;
    std::vector<Heap> below_;  // by group that is not joined yet: the groups below it
};

}  // namespace

std::vector<double> link_strengths(const PrunedTree& tree) {
    const Exponents exponents(tree);
    const int shift = exponents.shift();
    return exponents.n_bits() <= kUsualBits ? Branches<kUsualBits / 64>(tree, shift).strengths()
                                            : Branches<kMostBits / 64>(tree, shift).strengths();
}

}  // namespace weald
