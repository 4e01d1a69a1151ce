#include "inspect/proximity.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <utility>

namespace weald {

namespace {

constexpr std::size_t kLineBytes = 64;  // the sums of one member: one for each lane
constexpr std::size_t kTile = 4096;     // number of members whose sums are stored
constexpr std::size_t kStretch = 64;    // members whose flags are the bits of a word

struct Entry {
    double sum;
    std::int32_t member;

    // The larger sum, then the member that comes first.
    bool beats(const Entry& other) const { return sum != other.sum ? sum > other.sum : member < other.member; }
};

// Queried rows, ordered so that those that share leaves are adjacent.
std::vector<std::uint32_t> order_rows(const Sharing& sharing) {
    std::vector<std::uint32_t> order(sharing.n_rows);
    std::iota(order.begin(), order.end(), 0u);
    const std::size_t n_trees = sharing.n_trees();
    std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        const auto of_a = sharing.leaves.subspan(a * n_trees, n_trees);
        const auto of_b = sharing.leaves.subspan(b * n_trees, n_trees);
        const auto [x, y] = std::mismatch(of_a.begin(), of_a.end(), of_b.begin());
        return x != of_a.end() ? *x < *y : a < b;
    });
    return order;
}

// The sums of some queried rows, one per lane. Sum: std::uint16_t if all weights are 1 and trees are few, or double.
template <class Sum>
class RowLanes {
  public:
    static constexpr std::size_t kLanes = kLineBytes / sizeof(Sum);
    struct alignas(kLineBytes) Line {
        typedef Sum Vector __attribute__((vector_size(kLineBytes)));
        Vector of{};

        Sum operator[](std::size_t lane) const { return of[lane]; }
    };

    explicit RowLanes(const Sharing& sharing) : sharing_(sharing), sums_(kTile), met_(kTile / kStretch) {}

    // Calls use(member, sums of the lanes) for every member that shares a leaf with any of the rows, ascending.
    template <class Use>
    void add_up(std::span<const std::uint32_t> rows, const Work& work, Use&& use) {
        find_leaves(rows);
        for (std::size_t begin = 0; begin < sharing_.n_members; begin += kTile) {
            work.check();
            const std::size_t end = std::min(sharing_.n_members, begin + kTile);
            for (Leaf& leaf : leaves_) {
                add_leaf(leaf, begin, end);
            }
            for (std::size_t stretch = 0; stretch < met_.size(); ++stretch) {
                for (std::uint64_t rest = std::exchange(met_[stretch], 0); rest != 0; rest &= rest - 1) {
                    const std::size_t i = stretch * kStretch + static_cast<std::size_t>(std::countr_zero(rest));
                    use(begin + i, sums_[i]);
                    sums_[i] = Line{};
                }
            }
        }
    }

  private:
    struct Leaf {
        Line lanes;         // 1 where the row is in the leaf
        std::int64_t next;  // next member of the leaf
        std::int64_t end;
    };

    // The leaves that contain any of the rows, in tree order.
    void find_leaves(std::span<const std::uint32_t> rows) {
        leaves_.clear();
        for (std::size_t tree = 0; tree < sharing_.n_trees(); ++tree) {
            std::array<std::int32_t, kLanes> at;
            for (std::size_t lane = 0; lane < rows.size(); ++lane) {
                at[lane] = sharing_.leaves[rows[lane] * sharing_.n_trees() + tree];
            }
            for (std::size_t lane = 0; lane < rows.size(); ++lane) {
                if (at[lane] < 0) {
                    continue;
                }
                const std::int32_t number = at[lane];
                const auto node = static_cast<std::size_t>(sharing_.tree_start[tree] + number);
                Leaf leaf{Line{}, sharing_.start[node], sharing_.start[node + 1]};
                for (std::size_t other = lane; other < rows.size(); ++other) {
                    if (at[other] == number) {
                        leaf.lanes.of[other] = 1;
                        at[other] = -1;
                    }
                }
                leaves_.push_back(leaf);
            }
        }
    }

    void add_leaf(Leaf& leaf, std::size_t begin, std::size_t end) {
        const typename Line::Vector lanes = leaf.lanes.of;
        std::int64_t next = leaf.next;
        for (; next < leaf.end; ++next) {
            const auto at = static_cast<std::size_t>(next);
            const std::size_t member = sharing_.member[at];
            if (member >= end) {
                break;
            }
            met_[(member - begin) / kStretch] |= std::uint64_t{1} << (member - begin) % kStretch;
            if (std::is_same_v<Sum, double> && !sharing_.share.empty()) {
                sums_[member - begin].of += lanes * static_cast<Sum>(sharing_.share[at]);
            } else {
                sums_[member - begin].of += lanes;
            }
        }
        leaf.next = next;
    }

    const Sharing& sharing_;
    std::vector<Leaf> leaves_;
    std::vector<Line> sums_;          // by member of the tile; zero between two tiles
    std::vector<std::uint64_t> met_;  // bits of the members of the tile that share a leaf
};

// Sums unchanged, or divided by the number of trees that count for both rows.
class Scale {
  public:
    explicit Scale(const Sharing& sharing) : counting_(sharing.counting), n_words_(sharing.n_words()) {}

    double operator()(double sum, std::size_t row, std::size_t member) const {
        if (counting_.empty()) {
            return sum;
        }
        int both = 0;
        for (std::size_t word = 0; word < n_words_; ++word) {
            both += std::popcount(counting_[row * n_words_ + word] & counting_[member * n_words_ + word]);
        }
        return sum / both;
    }

  private:
    std::span<const std::uint64_t> counting_;
    std::size_t n_words_;
};

// The proximities of the rows of a block: all of them, or the k largest entries.
class Collector {
  public:
    Collector(std::size_t n_lanes, std::size_t k) : found_(n_lanes), k_(k) {}

    void add(std::size_t lane, const Entry& entry) {
        std::vector<Entry>& found = found_[lane];
        const auto worst_first = [](const Entry& a, const Entry& b) { return a.beats(b); };
        if (k_ == 0 || found.size() < k_) {
            found.push_back(entry);
            if (found.size() == k_) {
                std::make_heap(found.begin(), found.end(), worst_first);
            }
            return;
        }
        if (entry.beats(found.front())) {
            std::pop_heap(found.begin(), found.end(), worst_first);
            found.back() = entry;
            std::push_heap(found.begin(), found.end(), worst_first);
        }
    }

    // A new entry at or below this is not kept: members ascend, and of equal sums the first is kept.
    double floor(std::size_t lane) const { return k_ != 0 && found_[lane].size() == k_ ? found_[lane].front().sum : 0; }

    std::vector<Entry> take(std::size_t lane) {
        std::vector<Entry> found = std::move(found_[lane]);
        if (k_ != 0) {
            std::sort(found.begin(), found.end(), [](const Entry& a, const Entry& b) { return a.member < b.member; });
        }
        return found;
    }

  private:
    std::vector<std::vector<Entry>> found_;
    std::size_t k_;
};

// Calls use(rows, lanes) for blocks of queried rows.
template <class Sum, class Use>
void for_blocks(const Sharing& sharing, Work& work, Use&& use) {
    constexpr std::size_t kLanes = RowLanes<Sum>::kLanes;
    const std::vector<std::uint32_t> order = order_rows(sharing);
    std::vector<RowLanes<Sum>> of_threads(work.n_threads(), RowLanes<Sum>(sharing));
    work.run((order.size() + kLanes - 1) / kLanes, [&](std::size_t block, std::size_t thread) {
        const std::size_t begin = block * kLanes;
        use(std::span(order).subspan(begin, std::min(kLanes, order.size() - begin)), of_threads[thread]);
    });
}

// Calls use.operator()<Sum>() with the smallest type of sums.
template <class Use>
void choose_sum(const Sharing& sharing, Use&& use) {
    if (sharing.share.empty() && sharing.n_trees() < (1u << 16)) {
        use.template operator()<std::uint16_t>();
    } else {
        use.template operator()<double>();
    }
}

SharedRows join(std::vector<std::vector<Entry>>& of_rows) {
    SharedRows joined;
    joined.start.assign(1, 0);
    for (const std::vector<Entry>& found : of_rows) {
        joined.start.push_back(joined.start.back() + static_cast<std::int64_t>(found.size()));
    }
    joined.member.reserve(static_cast<std::size_t>(joined.start.back()));
    joined.sum.reserve(static_cast<std::size_t>(joined.start.back()));
    for (std::vector<Entry>& found : of_rows) {
        for (const Entry& entry : found) {
            joined.member.push_back(entry.member);
            joined.sum.push_back(entry.sum);
        }
        std::vector<Entry>().swap(found);  // limits the memory that is written twice
    }
    return joined;
}

}  // namespace

SharedRows add_shares(const Sharing& sharing, std::size_t k, Work& work) {
    std::vector<std::vector<Entry>> of_rows(sharing.n_rows);
    const Scale scale(sharing);
    choose_sum(sharing, [&]<class Sum>() {
        for_blocks<Sum>(sharing, work, [&](std::span<const std::uint32_t> rows, RowLanes<Sum>& lanes) {
            Collector collector(rows.size(), k);
            std::array<double, RowLanes<Sum>::kLanes> floor{};
            typename RowLanes<Sum>::Line least{};  // the same if sums are not divided
            lanes.add_up(rows, work, [&](std::size_t member, const typename RowLanes<Sum>::Line& sums) {
                bool any = false;
                for (std::size_t lane = 0; lane < RowLanes<Sum>::kLanes; ++lane) {
                    any |= sums[lane] > least[lane];
                }
                for (std::size_t lane = 0; any && lane < rows.size(); ++lane) {
                    if (sums[lane] <= least[lane]) {
                        continue;
                    }
                    const double sum = scale(static_cast<double>(sums[lane]), rows[lane], member);
                    if (sum > floor[lane]) {
                        collector.add(lane, {sum, static_cast<std::int32_t>(member)});
                        floor[lane] = collector.floor(lane);
                        least.of[lane] = sharing.counting.empty() ? static_cast<Sum>(floor[lane]) : Sum{0};
                    }
                }
            });
            for (std::size_t lane = 0; lane < rows.size(); ++lane) {
                of_rows[rows[lane]] = collector.take(lane);
            }
        });
    });
    return join(of_rows);
}

std::vector<double> square_shares(const Sharing& sharing, std::span<const std::int32_t> kind_of_row,
                                  std::span<const std::int32_t> kind_of_member, Work& work) {
    std::vector<double> squares(sharing.n_rows);
    const Scale scale(sharing);
    choose_sum(sharing, [&]<class Sum>() {
        for_blocks<Sum>(sharing, work, [&](std::span<const std::uint32_t> rows, RowLanes<Sum>& lanes) {
            std::array<double, RowLanes<Sum>::kLanes> of_lanes{};
            std::array<std::int32_t, RowLanes<Sum>::kLanes> kinds{};
            for (std::size_t lane = 0; lane < rows.size(); ++lane) {
                kinds[lane] = kind_of_row[rows[lane]];
            }
            lanes.add_up(rows, work, [&](std::size_t member, const typename RowLanes<Sum>::Line& sums) {
                const std::int32_t kind = kind_of_member[member];
                for (std::size_t lane = 0; lane < rows.size(); ++lane) {
                    if (sums[lane] != 0 && kinds[lane] == kind) {
                        const double sum = scale(static_cast<double>(sums[lane]), rows[lane], member);
                        of_lanes[lane] += sum * sum;
                    }
                }
            });
            for (std::size_t lane = 0; lane < rows.size(); ++lane) {
                squares[rows[lane]] = of_lanes[lane];
            }
        });
    });
    return squares;
}

}  // namespace weald
