-- Sliding window log: the instants of what was admitted; those newer than now - window count against `limit`.
--
-- policy   { algorithm, cost, limit, window }    window in microseconds
-- state    instants in whole microseconds, oldest first: up to PACKED of them a string of 8 bytes each (big-endian doubles),
--          beyond that a list, which is trimmed at its old end without being rewritten; a cost above LARGEST never fits
-- level    { entry: i -> the i-th instant, first: the oldest that counts, size: end of those stored, stamp: of those to come,
--            added: how many come, newest, and the stored form }
-- reply    how many count, microseconds until the newest of them expires, and, if the request is refused, microseconds until
--          enough of the oldest have expired for it (else 0)
local PACKED, CHUNK, LARGEST = 128, 1000, 1000

local function open(policy, size, entry, level)
  local bad = false
  local function at(i)
    local t = entry(i)
    if t and t == floor(t) and t >= 0 and t < 2 ^ 53 then return t end
    bad = true
    return 0
  end
  -- How many are no later than `edge`: steps that double from the old end, where it usually lies, then bisection.
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
  level.upTo, level.entry, level.window, level.stored, level.size, level.added = upTo, at, policy[4], size, size, 0
  level.newest = size > 0 and at(size - 1) or now
  local forget = size > 0 and level.newest + level.window
  local rebased = level.newest > now + skew
  if rebased then -- what lies ahead of a clock that stepped back happened now
    level.size, level.newest = upTo(now), now
    level.added = size - level.size
  end
  level.stamp = max(now, level.newest)
  level.first = min(upTo(now - level.window), level.size)
  if bad then return nil end
  return level, rebased, forget
end

local function read(raw, policy)
  raw = raw or ''
  if #raw % 8 ~= 0 then return nil end
  return open(policy, #raw / 8, function(i) return (struct.unpack('>d', raw, i * 8 + 1)) end, { raw = raw })
end

local function other(policy, key)
  local size = redis.pcall('LLEN', key)
  if type(size) == 'table' then
    if find(size.err, 'WRONGTYPE') then return nil, FOREIGN end
    redis.call('LLEN', key) -- a right is missing, say: raised as what it is
  end
  return open(policy, size, function(i)
    local digits = redis.call('LINDEX', key, i)
    return not find(digits, '%D') and tonumber(digits)
  end, { list = true })
end

local function used(level) return level.size - level.first + level.added end

local function room(level, policy, cost)
  return cost <= LARGEST and floor((policy[3] - used(level)) / cost) or 0
end

local function charge(level, policy, times, refused, reply)
  local count, n = used(level), #reply
  reply[n + 1], reply[n + 2], reply[n + 3] = count, count > 0 and level.newest + level.window - now or 0, 0
  if times * policy[2] > 0 then level.added, level.newest = level.added + times * policy[2], level.stamp end
  local excess = used(level) + policy.ask - policy[3]
  if refused and excess > 0 and excess <= used(level) then
    local last = level.first + excess - 1
    reply[n + 3] = (last < level.size and level.entry(last) or level.stamp) + level.window - now
  end
  return level
end

-- The entries of its instant.
local refund = ARGV[5] and function(level, policy, at, resetAt)
  local instant = resetAt - level.window
  local last = level.upTo(instant)
  local count = min(policy[2], last - level.upTo(instant - 1))
  if count <= 0 then return nil end
  if level.list then
    level.keep, level.from = last - count, last
  else
    level = read(sub(level.raw, 1, (last - count) * 8) .. sub(level.raw, last * 8 + 1), policy)
  end
  level.first = 0 -- what has expired goes with the next charge
  return level
end

local function write(level)
  if level.list then return nil end
  local forget = level.newest + level.window
  level.list = used(level) > PACKED
  if level.list then return '', forget end
  return sub(level.raw, level.first * 8 + 1, level.size * 8) .. string.rep(struct.pack('>d', level.stamp), level.added), forget
end

local function finish(level, key)
  if not level.list then return end
  local unit, time = expiry(level.newest + level.window)
  local pending, size = {}, 0
  local function push(t)
    size = size + 1
    pending[size] = digits(t)
    if size == CHUNK then
      redis.call('RPUSH', key, unpack(pending))
      pending, size = {}, 0
    end
  end
  if level.keep then -- given back: what came after it is few
    local later = {}
    for i = level.from, level.size - 1 do later[#later + 1] = level.entry(i) end
    if level.keep > 0 then redis.call('LTRIM', key, 0, level.keep - 1) else redis.call('DEL', key) end
    for i = 1, #later do push(later[i]) end
  elseif level.raw then
    redis.call('DEL', key)
    for i = level.first, level.size - 1 do push(level.entry(i)) end
  elseif level.size < level.stored then
    redis.call('LTRIM', key, 0, level.size - level.stored - 1) -- counted from the new end: -1 would keep all
  end
  for _ = 1, level.added do push(level.stamp) end
  if size > 0 then redis.call('RPUSH', key, unpack(pending)) end
  if not level.raw and level.first > 0 then redis.call('LTRIM', key, level.first, -1) end
  redis.call(unit == 'PX' and 'PEXPIRE' or 'EXPIREAT', key, time)
end

return { read = read, room = room, charge = charge, write = write, other = other, finish = finish, refund = refund }
