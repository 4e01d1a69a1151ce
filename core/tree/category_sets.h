// The side of a category at a split.
//
//   category_key       the key of a category
//   CategorySet        the location and form of a set
//   CategorySetsView   sets that are owned by another object
//   CategorySets       sets that are being built
//
// A set that does not fit into one word is stored as bits, from the first word that has one of its categories to the
// last, unless the list of its categories is much shorter.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace weald {

// Values below `others` that are not categories have that number. Missing values have the largest key.
template <class Key, class Float>
inline Key category_key(Float x, Key others) {
    if (x != x) {
        return static_cast<Key>(~0ull);
    }
    if (!(x >= 0 && x < static_cast<Float>(others))) {
        return others;
    }
    const auto category = static_cast<Key>(x);
    return static_cast<Float>(category) == x ? category : others;
}

struct CategorySet {
    static constexpr std::uint32_t kWordBits = 64;

    std::uint64_t begin;       // begin of its words, or of its list
    std::uint32_t length;      // words, or categories
    std::uint32_t first_word;  // categories before it are not in the set
    std::uint32_t is_list;
    std::uint32_t others_left;  // 1: categories not in the set go left, those in it right
};

struct CategorySetsView {
    std::span<const CategorySet> sets;
    std::span<const std::uint64_t> words;
    std::span<const std::uint32_t> lists;

    bool goes_left(std::size_t number, std::uint64_t category) const {
        const CategorySet& set = sets[number];
        return has(set, category) != (set.others_left != 0);
    }

  private:
    bool has(const CategorySet& set, std::uint64_t category) const {
        if (set.is_list != 0) {
            const auto begin = lists.begin() + static_cast<std::ptrdiff_t>(set.begin);
            return std::binary_search(begin, begin + set.length, category);
        }
        // Before the first word: wraps to a large number.
        const std::uint64_t word = category / CategorySet::kWordBits - set.first_word;
        return word < set.length && (words[set.begin + word] >> category % CategorySet::kWordBits & 1) != 0;
    }
};

class CategorySets {
  public:
    // `categories` are ascending and not empty. Returns the index of the set.
    std::uint32_t add(std::span<const std::uint32_t> categories, bool others_left) {
        const std::uint32_t first_word = categories.front() / CategorySet::kWordBits;
        const std::uint32_t n_words = categories.back() / CategorySet::kWordBits - first_word + 1;
        CategorySet set{words_.size(), n_words, first_word, 0, others_left};
        if (n_words > kFewWords && n_words > 2 * categories.size()) {
            set = {lists_.size(), static_cast<std::uint32_t>(categories.size()), 0, 1, others_left};
            lists_.insert(lists_.end(), categories.begin(), categories.end());
        } else {
            words_.resize(words_.size() + n_words);
            for (const std::uint32_t category : categories) {
                words_[set.begin + category / CategorySet::kWordBits - first_word] |=
                    std::uint64_t{1} << category % CategorySet::kWordBits;
            }
        }
        sets_.push_back(set);
        return static_cast<std::uint32_t>(sets_.size() - 1);
    }

    CategorySetsView view() const { return {sets_, words_, lists_}; }

  private:
    static constexpr std::uint32_t kFewWords = 8;

    std::vector<CategorySet> sets_;
    std::vector<std::uint64_t> words_;
    std::vector<std::uint32_t> lists_;
};

}  // namespace weald
