-- Makes the level of a log with `size` entries, of which `entry(i)` reads the one at place i (from 0). Adds to `level`:
--
-- entry    entry(i), checked
-- upTo     upTo(edge): how many entries are no later than `edge`
-- window   of the policy
-- stored   how many entries Redis holds
-- size     how many of them stay as they are: fewer only where a clock stepped back
-- first    the place of the oldest entry that counts
-- added    how many entries are to be appended
-- stamp    the instant of those
-- newest   the instant of the last entry
local function open(policy, size, entry, level)
  local bad = false
  local function at(i)
    local t = entry(i)
    if t and t == floor(t) and t >= 0 and t < 2 ^ 53 then return t end
    bad = true
    return 0
  end
  -- The edge mostly lies near the old end: steps from there that double, then bisection.
  local function upTo(edge)
    local low, high, step = 0, 0, 1
    while high < size and at(high) <= edge do low, high, step = high + 1, high + step, step * 2 end
    high = min(high, size)
    while low < high do
      local middle = floor((low + high) / 2)
      if at(middle) <= edge then low = middle + 1 else high = middle end
    end
    return low
  end
  level.upTo, level.entry, level.window = upTo, at, policy[5]
  level.stored, level.size, level.added = size, size, 0
  level.newest = size > 0 and at(size - 1) or now
  local forget = size > 0 and level.newest + level.window
  local rebased = level.newest > now + skew
  if rebased then -- the clock stepped back: entries that lie ahead of it move to now
    level.size, level.newest = upTo(now), now
    level.added = size - level.size
  end
  level.stamp = max(now, level.newest)
  level.first = min(upTo(now - level.window), level.size)
  if bad then return nil end
  return level, rebased, forget
end
