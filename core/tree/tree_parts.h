// A tree grown in parts by several threads: the thread of a part passes some of its right subtrees to other threads.

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "tree/tree.h"

namespace weald {

// The codes on both sides of a node's cut.
struct CutCodes {
    std::uint32_t below = 0;
    std::uint32_t above = 0;
};

// Nodes in pre-order, except the subtrees of other threads. `Sums` is what the model stores for each node.
template <class Sums>
struct TreePart {
    struct Gap {
        std::size_t place;        // the subtree comes before this node of the part
        std::size_t parent;       // parent of the subtree, a node of the part
        const TreePart* subtree;  // owned by `given_away`
    };

    TreeArrays tree;
    std::vector<CutCodes> beside;
    Sums sums;
    std::vector<Gap> gaps;
    std::vector<std::unique_ptr<TreePart>> given_away;

    // Inserts the subtrees. A part may be as deep as a tree, so there is no recursion.
    TreePart join() && {
        TreePart whole;
        whole.reserve(n_nodes());
        std::vector<Reading> open;
        open.emplace_back(*this);
        while (!open.empty()) {
            Reading& part = open.back();
            const bool is_last = part.next_gap == part.from.gaps.size();
            const std::size_t end = is_last ? part.from.tree.n_nodes() : part.from.gaps[part.next_gap].place;
            part.copy(end, whole);
            if (is_last) {
                part.link(whole.tree);
                open.pop_back();
                continue;
            }
            const Gap& gap = part.from.gaps[part.next_gap++];
            whole.tree.right[part.starts[gap.parent]] = static_cast<std::int32_t>(whole.tree.n_nodes());
            const TreePart* subtree = gap.subtree;
            open.emplace_back(*subtree);
        }
        return whole;
    }

  private:
    // With all subtrees.
    std::size_t n_nodes() const {
        std::size_t n = 0;
        std::vector<const TreePart*> open{this};
        while (!open.empty()) {
            const TreePart* part = open.back();
            open.pop_back();
            n += part->tree.n_nodes();
            for (const auto& subtree : part->given_away) {
                open.push_back(subtree.get());
            }
        }
        return n;
    }
    void reserve(std::size_t n) {
        tree.reserve(n);
        beside.reserve(n);
        sums.reserve(n);
    }

    // A part that is being copied.
    struct Reading {
        explicit Reading(const TreePart& part) : from(part), cursor{part.tree} {}

        const TreePart& from;
        TreeCursor cursor;
        std::size_t next_gap = 0;
        std::vector<std::size_t> starts;  // by node of the part: its index in the whole

        void copy(std::size_t end, TreePart& whole) {
            const std::size_t begin = cursor.node;
            starts.reserve(from.tree.n_nodes());
            for (std::size_t i = begin; i < end; ++i) {
                starts.push_back(whole.tree.n_nodes() + (i - begin));
            }
            cursor.copy(end - begin, whole.tree);
            TreeCursor::append(whole.beside, from.beside, begin, end - begin);
            whole.sums.append(from.sums, begin, end - begin);
        }
        // Nodes have moved, and so have their right children, except those of other threads, which are linked already.
        void link(TreeArrays& whole) const {
            for (std::size_t i = 0; i < starts.size(); ++i) {
                if (const std::int32_t right = from.tree.right[i]; right != 0) {
                    whole.right[starts[i]] = static_cast<std::int32_t>(starts[static_cast<std::size_t>(right)]);
                }
            }
        }
    };
};

}  // namespace weald
