// Which way a category goes at a split, for sets that do not fit one word.
//
// A set is kept bit by bit, from the first word that has one of its categories to the last, unless it is so thin that
// the list of its categories is much shorter.

#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace weald {

class CategorySets {
  public:
    // `categories` ascend. Returns the number of the set.
    std::uint32_t add(std::span<const std::uint32_t> categories, bool others_left) {
        const std::uint32_t first_word = categories.front() / kWordBits;
        const std::uint32_t n_words = categories.back() / kWordBits - first_word + 1;
        Set set{0, n_words, first_word, false, others_left};
        if (n_words > kFewWords && n_words > 2 * categories.size()) {
            set = {lists_.size(), static_cast<std::uint32_t>(categories.size()), 0, true, others_left};
            lists_.insert(lists_.end(), categories.begin(), categories.end());
        } else {
            set.begin = words_.size();
            words_.resize(words_.size() + n_words);
            for (const std::uint32_t category : categories) {
                words_[set.begin + category / kWordBits - first_word] |= std::uint64_t{1} << category % kWordBits;
            }
        }
        sets_.push_back(set);
        return static_cast<std::uint32_t>(sets_.size() - 1);
    }

    bool goes_left(std::uint32_t number, std::uint32_t category) const {
        const Set& set = sets_[number];
        return has(set, category) != set.others_left;
    }

  private:
    static constexpr std::uint32_t kWordBits = 64;
    static constexpr std::uint32_t kFewWords = 8;

    struct Set {
        std::size_t begin;         // of its words, or of its list
        std::uint32_t length;      // words, or categories
        std::uint32_t first_word;  // categories before it are not in the set
        bool is_list;
        bool others_left;
    };

    bool has(const Set& set, std::uint32_t category) const {
        if (set.is_list) {
            const auto begin = lists_.begin() + static_cast<std::ptrdiff_t>(set.begin);
            return std::binary_search(begin, begin + set.length, category);
        }
        const std::uint32_t word = category / kWordBits - set.first_word;  // before the first: wraps to a large number
        return word < set.length && (words_[set.begin + word] >> category % kWordBits & 1) != 0;
    }

    std::vector<Set> sets_;
    std::vector<std::uint64_t> words_;
    std::vector<std::uint32_t> lists_;
};

}  // namespace weald
