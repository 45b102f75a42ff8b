-- A log's entries, and the level that is made of them. Fields of a level:
--
-- raw      the text; or
-- key      of the list, and
-- gaps     the entries that were refunded, in turn: each is a place and how many behind it are gone (nil: none)
-- cut      how many entries at the new end go: those that lie ahead where a clock stepped back
-- size     how many entries stay as they are, those before `first` included
-- first    the place of the oldest entry that counts
-- drop     how many entries at the old end go when it is written; false: all before `first`, as after a charge
-- added    how many entries are to be appended
-- stamp    the instant of those
-- granted  how many entries of one instant are to be inserted into a list, and
-- given    that instant: see concurrency.lua
-- newest   the instant of the last entry

local unpackEntry = struct.unpack

-- The entry at place i, from 0.
local function at(level, i)
  local raw, t = level.raw, nil
  if raw then
    t = unpackEntry('>d', raw, i * 8 + 1)
  else
    local gaps = level.gaps
    for g = gaps and #gaps or 0, 1, -1 do
      if i >= gaps[g][1] then i = i + gaps[g][2] end
    end
    local entry = redis.call('LINDEX', level.key, i)
    t = find(entry, '^%d+$') and tonumber(entry)
  end
  if t and t % 1 == 0 and t >= 0 and t < 2 ^ 53 then return t end
  level.bad = true
  return 0
end

-- How many entries are no later than `edge`, which mostly lies near the old end: steps from there that double, then bisection.
local function upTo(level, edge)
  local size, low, high, step = level.size, 0, 0, 1
  while high < size and at(level, high) <= edge do low, high, step = high + 1, high + step, step * 2 end
  if high > size then high = size end
  while low < high do
    local middle = floor((low + high) / 2)
    if at(level, middle) <= edge then low = middle + 1 else high = middle end
  end
  return low
end

-- The level of a log with `size` entries: a text, or the list of a key. All its fields are made at once: to add them one by one
-- takes Lua twice as long.
local function open(raw, key, policy, size)
  local level = {
    raw = raw,
    key = key,
    size = size,
    first = 0,
    drop = 0,
    cut = 0,
    added = 0,
    newest = now,
    stamp = now,
    granted = 0,
    given = 0,
  }
  local window, rebased, forget = policy[5], false, nil
  if size > 0 then
    local newest = at(level, size - 1)
    forget, rebased = newest + window, newest > now + skew
    if rebased then -- the clock stepped back: entries that lie ahead of it move to now
      level.size = upTo(level, now)
      level.cut = size - level.size
      level.added, level.drop = level.cut, false
    else
      level.newest = newest
      if newest > now then level.stamp = newest end
    end
    level.first = upTo(level, now - window)
    if level.bad then return nil end
  end
  return level, rebased, forget
end
