// Immediate postdominators of the blocks of a function, and the markers at which diverged lanes meet.
#include <algorithm>
#include <vector>

#include "backends/gpu/emulator/decoder.h"

namespace xc::emulator {
namespace {

struct BasicBlock {
  int32_t begin = 0, end = 0;
  std::vector<int32_t> successors;  // -1: the function's end
};

bool EndsBlock(const Instruction& i) {
  return i.run == Branch || i.run == IndirectBranch || i.run == Return || i.run == Exit || i.run == Trap;
}

// Postdominators by the iterative algorithm of Cooper, Harvey and Kennedy on the reversed graph; node n is the end.
std::vector<int32_t> ImmediatePostdominators(const std::vector<BasicBlock>& blocks) {
  const int32_t n = static_cast<int32_t>(blocks.size());
  std::vector<std::vector<int32_t>> predecessors(static_cast<size_t>(n) + 1);
  for (int32_t b = 0; b < n; ++b) {
    for (int32_t s : blocks[static_cast<size_t>(b)].successors)
      predecessors[static_cast<size_t>(s < 0 ? n : s)].push_back(b);
  }
  // Postorder of the reversed graph from the end, without recursion.
  std::vector<int32_t> order, number(static_cast<size_t>(n) + 1, -1);
  std::vector<std::pair<int32_t, size_t>> path = {{n, 0}};
  std::vector<bool> seen(static_cast<size_t>(n) + 1, false);
  seen[static_cast<size_t>(n)] = true;
  while (!path.empty()) {
    auto& [node, at] = path.back();
    const auto& from = predecessors[static_cast<size_t>(node)];
    if (at < from.size()) {
      const int32_t next = from[at++];
      if (!seen[static_cast<size_t>(next)]) {
        seen[static_cast<size_t>(next)] = true;
        path.emplace_back(next, 0);
      }
    } else {
      number[static_cast<size_t>(node)] = static_cast<int32_t>(order.size());
      order.push_back(node);
      path.pop_back();
    }
  }
  std::vector<int32_t> dominator(static_cast<size_t>(n) + 1, -1);
  dominator[static_cast<size_t>(n)] = n;
  const auto meet = [&](int32_t a, int32_t b) {
    while (a != b) {
      while (number[static_cast<size_t>(a)] < number[static_cast<size_t>(b)]) a = dominator[static_cast<size_t>(a)];
      while (number[static_cast<size_t>(b)] < number[static_cast<size_t>(a)]) b = dominator[static_cast<size_t>(b)];
    }
    return a;
  };
  bool changed = true;
  while (changed) {
    changed = false;
    for (size_t k = order.size(); k-- > 0;) {
      const int32_t b = order[k];
      if (b == n) continue;
      int32_t found = -1;
      for (int32_t s : blocks[static_cast<size_t>(b)].successors) {
        const int32_t successor = s < 0 ? n : s;
        if (dominator[static_cast<size_t>(successor)] < 0) continue;
        found = found < 0 ? successor : meet(found, successor);
      }
      if (found != dominator[static_cast<size_t>(b)]) {
        dominator[static_cast<size_t>(b)] = found;
        changed = true;
      }
    }
  }
  return dominator;  // -1: no way to the end
}

}  // namespace

void PlaceReconvergence(Code* code) {
  std::vector<Instruction>& instructions = code->instructions;
  const int32_t size = static_cast<int32_t>(instructions.size());
  std::vector<bool> starts(static_cast<size_t>(size) + 1, false);
  starts[0] = true;
  const auto targets = [code](const Instruction& i) {
    std::vector<int32_t> found;
    if (i.run == Branch) found.push_back(i.x);
    if (i.run == IndirectBranch) {
      found.assign(code->lists.begin() + i.list, code->lists.begin() + i.list + i.count);
    }
    return found;
  };
  for (int32_t n = 0; n < size; ++n) {
    const Instruction& i = instructions[static_cast<size_t>(n)];
    if (!EndsBlock(i)) continue;
    starts[static_cast<size_t>(n) + 1] = true;
    for (int32_t target : targets(i)) starts[static_cast<size_t>(target)] = true;
  }
  std::vector<BasicBlock> blocks;
  std::vector<int32_t> block_of(static_cast<size_t>(size) + 1, -1);
  for (int32_t n = 0; n < size; ++n) {
    if (starts[static_cast<size_t>(n)]) {
      if (!blocks.empty()) blocks.back().end = n;
      blocks.push_back({n, size, {}});
    }
    block_of[static_cast<size_t>(n)] = static_cast<int32_t>(blocks.size()) - 1;
  }
  for (BasicBlock& block : blocks) {
    const Instruction& last = instructions[static_cast<size_t>(block.end) - 1];
    const bool is_branch = last.run == Branch || last.run == IndirectBranch;
    for (int32_t target : targets(last)) block.successors.push_back(block_of[static_cast<size_t>(target)]);
    const bool conditional = last.run == Branch ? last.a >= 0 : last.guard >= 0;
    // A trap is no way out: what it ends has nowhere to meet.
    if (EndsBlock(last) && !is_branch && last.run != Trap) block.successors.push_back(-1);
    if (!EndsBlock(last) || conditional) {
      block.successors.push_back(block.end < size ? block_of[static_cast<size_t>(block.end)] : -1);
    }
  }
  const std::vector<int32_t> dominator = ImmediatePostdominators(blocks);
  // Markers move everything behind them.
  std::vector<bool> marked(static_cast<size_t>(size) + 1, false);
  for (size_t b = 0; b < blocks.size(); ++b) {
    Instruction& last = instructions[static_cast<size_t>(blocks[b].end) - 1];
    if (last.run != IndirectBranch && !(last.run == Branch && last.a >= 0)) continue;
    const int32_t d = dominator[b];
    last.z = d < 0 || d == static_cast<int32_t>(blocks.size()) ? -1 : blocks[static_cast<size_t>(d)].begin;
    if (last.z >= 0) marked[static_cast<size_t>(last.z)] = true;
  }
  std::vector<int32_t> moved(static_cast<size_t>(size) + 1);
  std::vector<Instruction> with_markers;
  std::vector<std::string> texts;
  for (int32_t n = 0; n < size; ++n) {
    moved[static_cast<size_t>(n)] = static_cast<int32_t>(with_markers.size());
    if (marked[static_cast<size_t>(n)]) {
      Instruction marker;
      marker.run = Reconverge;
      marker.x = moved[static_cast<size_t>(n)];
      marker.line = instructions[static_cast<size_t>(n)].line;
      with_markers.push_back(marker);
      texts.emplace_back();
    }
    with_markers.push_back(instructions[static_cast<size_t>(n)]);
    texts.push_back(code->texts[static_cast<size_t>(n)]);
  }
  for (Instruction& i : with_markers) {
    if (i.run == Branch) i.x = moved[static_cast<size_t>(i.x)];
    if (i.run == Branch || i.run == IndirectBranch) i.z = i.z < 0 ? -1 : moved[static_cast<size_t>(i.z)];
    if (i.run != IndirectBranch) continue;
    for (int32_t n = 0; n < i.count; ++n) {
      Slot& target = code->lists[static_cast<size_t>(i.list + n)];
      target = moved[static_cast<size_t>(target)];
    }
  }
  code->instructions = std::move(with_markers);
  code->texts = std::move(texts);
}

}  // namespace xc::emulator
