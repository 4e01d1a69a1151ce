// The best cut by categories from the sums of each category. Rows are read once, directly from the column, and nothing
// is sorted but the categories.

#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "rows/gather.h"
#include "score/candidate.h"
#include "search/searched_model.h"

namespace weald {

// Whether the left side of a cut is a sum of categories, which are put in one order.
template <class Model>
inline constexpr bool kSumsCategories = std::is_same_v<typename Model::Share, LeftOf<Model>> &&
                                        requires(const typename Model::Share& sum) { Model::Labels::is_empty(sum); };

template <SearchedModel Model>
class CategorySums {
  public:
    using Payload = typename Model::Payload;
    using Sum = typename Model::Share;

    // The rows `ids` of a column with this many categories. `code_at` becomes the code at each position in the order
    // of the target.
    template <class Code>
    FeatureCuts search(Model& model, const Code* column, std::span<const std::uint32_t> ids, const Payload* payloads,
                       std::size_t n_codes, std::vector<std::uint32_t>& code_at) {
        add_rows(model, column, ids, payloads, n_codes);
        take_entries(model, column, ids, n_codes);
        sort_entries();
        code_at.resize(entries_.size());
        std::transform(entries_.begin(), entries_.end(), code_at.begin(),
                       [](const Entry& entry) { return entry.code; });
        return judge_all(model, take(n_codes));
    }

  private:
    struct Entry {
        double share;
        std::uint32_t code;
        Sum sum;

        bool operator<(const Entry& other) const {
            return share != other.share ? share < other.share : code < other.code;
        }
    };
    static constexpr std::size_t kFew = 16;

    // Missing values are added behind the categories. Adjacent rows are added to separate sums: often they have the
    // same category, and one addition would wait for the other.
    template <class Code>
    void add_rows(const Model& model, const Code* column, std::span<const std::uint32_t> ids, const Payload* payloads,
                  std::size_t n_codes) {
        sums_.resize(std::max(sums_.size(), 2 * (n_codes + 1)));
        Sum* sums = sums_.data();
        for (std::size_t i = 0; i < ids.size(); ++i) {
            const Code code = column[ids[i]];
            const std::size_t place = code == kMissing<Code> ? n_codes : code;
            model.add_to_share(sums[2 * place + i % 2], payloads[i], 0);
        }
    }

    // Of one category, which is cleared.
    Sum take(std::size_t place) {
        Sum sum = std::exchange(sums_[2 * place], Sum{});
        sum += std::exchange(sums_[2 * place + 1], Sum{});
        return sum;
    }

    // If there are many categories, only those of the rows are visited.
    template <class Code>
    void take_entries(const Model& model, const Code* column, std::span<const std::uint32_t> ids, std::size_t n_codes) {
        entries_.clear();
        const auto take_one = [&](std::uint32_t code) {
            const Sum sum = take(code);
            if (!Model::Labels::is_empty(sum)) {
                entries_.push_back({model.share(sum), code, sum});
            }
        };
        if (n_codes <= 2 * ids.size()) {
            for (std::uint32_t code = 0; code < n_codes; ++code) {
                take_one(code);
            }
            return;
        }
        for (const std::uint32_t id : ids) {
            if (column[id] != kMissing<Code>) {
                take_one(column[id]);
            }
        }
    }

    void sort_entries() {
        if (entries_.size() > kFew) {
            std::sort(entries_.begin(), entries_.end());
            return;
        }
        for (std::size_t i = 1; i < entries_.size(); ++i) {
            const Entry entry = entries_[i];
            std::size_t at = i;
            for (; at > 0 && entry < entries_[at - 1]; --at) {
                entries_[at] = entries_[at - 1];
            }
            entries_[at] = entry;
        }
    }

    FeatureCuts judge_all(Model& model, const Sum& missing) const {
        FeatureCuts found;
        found.has_missing = !Model::Labels::is_empty(missing);
        const auto offer = [&](const Sum& left, std::uint64_t order) {
            if (const std::optional<Candidate> cut = model.judge(left, order)) {
                found.is_admissible = true;
                found.offer(*cut);
            }
        };
        Sum left{};
        for (std::uint32_t place = 0; place + 1 < entries_.size(); ++place) {
            left += entries_[place].sum;
            offer(left, Candidate::order_of(place, false));
            if (found.has_missing) {
                Sum with_missing = left;
                with_missing += missing;
                offer(with_missing, Candidate::order_of(place, true));
            }
        }
        if (found.has_missing && !entries_.empty()) {
            left += entries_.back().sum;
            offer(left, Candidate::kPresentAgainstMissing);
        }
        return found;
    }

    std::vector<Sum> sums_;  // two for each category; zero between two searches
    std::vector<Entry> entries_;
};

}  // namespace weald
