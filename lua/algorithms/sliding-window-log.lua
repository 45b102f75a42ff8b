-- Sliding window log: the instants of the admitted requests; those newer than now - window count against `limit`.
--
-- policy   { algorithm, ask, take, limit, window }    window in microseconds
-- state    the instants, oldest first. Up to PACKED of them are a string of 8 bytes each (big-endian doubles). More are a list,
--          because a list is trimmed at its old end without being rewritten.
-- level    the fields that sliding-window-log/open.lua names
-- reply    how many instants count; microseconds until the newest of them expires; if the request is rejected, microseconds
--          until enough of the oldest have expired for it (else 0)
local PACKED = 128 -- entries of a string
local LARGEST = 1000 -- cost that one settlement adds. The caller asks for more than the limit where a request's cost is larger

--- @include "sliding-window-log/open.lua"

local function read(raw, policy)
  raw = raw or ''
  if #raw % 8 ~= 0 then return nil end
  return open(raw, nil, policy, #raw / 8)
end

local function other(policy, key)
  local size = redis.pcall('LLEN', key)
  if type(size) == 'table' then
    if find(size.err, 'WRONGTYPE') then return nil, FOREIGN end
    redis.call('LLEN', key) -- another error, such as a missing right: raises it as it is
  end
  return open(nil, key, policy, size)
end

local function used(level) return level.size - level.first + level.added + level.granted end

local function room(level, policy)
  local ask, take = policy[2], policy[3]
  return floor((policy[4] - used(level) - ask) / (take > 0 and take or ask)) + 1
end

local function charge(level, policy, times, rejected, reply)
  local ask, take, limit, window = policy[2], policy[3], policy[4], policy[5]
  local count, n, taken = used(level), #reply, times * take
  reply[n + 1], reply[n + 2], reply[n + 3] = count, count > 0 and level.newest + window - now or 0, 0
  if taken > 0 then
    level.added, level.newest, level.drop = level.added + taken, level.stamp, false
  end
  local excess = count + taken + ask - limit
  if rejected and excess > 0 and excess <= count + taken then
    local last = level.first + excess - 1
    reply[n + 3] = (last < level.size and at(level, last) or level.stamp) + window - now
  end
  return level
end

-- Removes up to `cost` entries of an instant that count. Returns how many there were. Expired entries stay until the next charge.
local function remove(level, policy, instant, cost)
  -- Equal instants are interchangeable: those that are not written yet go first.
  local fresh = instant == level.stamp and min(cost, level.added) or 0
  level.added = level.added - fresh
  local last, stored = upTo(level, instant), cost - fresh
  -- Entries are in order: if the oldest of them has that instant, so do those behind it.
  if last - stored < level.first or stored > 0 and at(level, last - stored) ~= instant then
    stored = min(stored, last - max(level.first, upTo(level, instant - 1)))
  end
  if stored > 0 then
    local keep = last - stored
    if keep == (level.drop or level.first) then
      level.first, level.drop = last, level.drop and last
    else
      level.size = level.size - stored
      if level.raw then
        level.raw = sub(level.raw, 1, keep * 8) .. sub(level.raw, last * 8 + 1)
      else
        level.gaps = level.gaps or {}
        level.gaps[#level.gaps + 1] = { keep, stored }
      end
    end
  end
  if level.added == 0 then
    level.newest = level.size > (level.drop or level.first) and at(level, level.size - 1) or now - policy[5]
    if level.granted > 0 then level.newest = max(level.newest, level.given) end
    level.stamp = max(now, level.newest)
  end
  return fresh + max(0, stored)
end

-- Removes as many entries of the charge's instant as the charge added. Those that have expired give nothing back.
local refund = settling and function(level, policy, _, refundable, _, resetAt)
  if resetAt <= now then return nil end
  local removed = remove(level, policy, resetAt - policy[5], refundable)
  if removed == 0 then return nil end
  return level, removed
end

local rest = settling and function(level, policy, overdraft) return min(LARGEST, policy[4] + overdraft - used(level)) end

--- @include "sliding-window-log/write.lua"

return {
  read = read,
  room = room,
  charge = charge,
  write = write,
  other = other,
  finish = finish,
  refund = refund,
  rest = rest,
  used = used, -- for concurrency, as the following
  at = at,
  upTo = upTo,
  remove = remove,
}
