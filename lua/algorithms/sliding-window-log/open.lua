-- A log's entries, and the level that is made of them. Fields of a level:
--
-- raw      the text; or
-- key      of the list, and
-- gaps     the entries that were refunded, in turn: each is a place and how many behind it are gone (nil: none)
-- window   of the policy
-- cut      how many entries at the new end go: those that lie ahead where a clock stepped back
-- size     how many entries stay as they are, those before `first` included
-- first    the place of the oldest entry that counts
-- drop     how many entries at the old end go when it is written; nil: all before `first`, as `drops` says after a charge
-- added    how many entries are to be appended
-- stamp    the instant of those
-- newest   the instant of the last entry

-- The entry at place i, from 0.
local function at(level, i)
  local t
  if level.raw then
    t = struct.unpack('>d', level.raw, i * 8 + 1)
  else
    local gaps = level.gaps
    for g = gaps and #gaps or 0, 1, -1 do
      if i >= gaps[g][1] then i = i + gaps[g][2] end
    end
    local entry = redis.call('LINDEX', level.key, i)
    t = find(entry, '^%d+$') and tonumber(entry)
  end
  if t and t == floor(t) and t >= 0 and t < 2 ^ 53 then return t end
  level.bad = true
  return 0
end

-- How many entries are no later than `edge`, which mostly lies near the old end: steps from there that double, then bisection.
local function upTo(level, edge)
  local size, low, high, step = level.size, 0, 0, 1
  while high < size and at(level, high) <= edge do low, high, step = high + 1, high + step, step * 2 end
  high = min(high, size)
  while low < high do
    local middle = floor((low + high) / 2)
    if at(level, middle) <= edge then low = middle + 1 else high = middle end
  end
  return low
end

-- Completes the level of a log with `size` entries.
local function open(level, policy, size)
  level.window, level.size, level.cut, level.added = policy[5], size, 0, 0
  level.newest = size > 0 and at(level, size - 1) or now
  local forget = size > 0 and level.newest + level.window
  local rebased = level.newest > now + skew
  if rebased then -- the clock stepped back: entries that lie ahead of it move to now
    level.size, level.newest = upTo(level, now), now
    level.cut = size - level.size
    level.added = level.cut
  end
  level.stamp, level.drops = max(now, level.newest), rebased
  level.first = min(upTo(level, now - level.window), level.size)
  if level.bad then return nil end
  return level, rebased, forget
end
