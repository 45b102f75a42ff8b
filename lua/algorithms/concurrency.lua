-- Concurrency: at most `limit` leases at once. A lease ends when it is released, or `lease` after it was taken or renewed.
--
-- policy   { algorithm, ask, take, limit, lease, held, granted }    lease in microseconds; held: only of a renewal, when the lease
--          ends, else 0 or nothing; granted: how long a new lease lasts until its first renewal. Nothing: the whole `lease`
-- state    that of a sliding window log whose window is the lease: the instants at which the leases were taken or renewed. A
--          lease ends at its instant + lease; equal instants are interchangeable. A release is a refund. A lease that is granted for
--          less has the instant at which it would have been taken to end then.
-- level    that of the log
-- reply    that of the log; for a renewal one more number: 1 if the lease has not ended, else 0
--
-- A renewal moves its lease to now, even if the limit was lowered meanwhile. If the lease has ended, it takes another one, as
-- a new request would. A batch holds one renewal of a key.
local log = build('sliding-window-log')
local room, charge, used, at, upTo = log.room, log.charge, log.used, log.at, log.upTo

-- In a log that was rebased the lease cannot be found.
local function isHeld(level, policy)
  local take, lease, held = policy[3], policy[5], policy[6]
  if held <= now or level.cut > 0 then return false end
  return upTo(level, held - lease) - upTo(level, held - lease - 1) >= take
end

function log.room(level, policy)
  if (policy[6] or 0) > 0 and isHeld(level, policy) then return 1 end
  return room(level, policy)
end

-- Adds leases that end before others which were renewed: their places are among the entries.
local function insert(level, instant, count)
  level.newest = used(level) > 0 and max(level.newest, instant) or instant
  level.drop = false
  if level.key then
    level.granted, level.given = level.granted + count, instant
    return
  end
  local place, raw = upTo(level, instant), sub(level.raw, 1, level.size * 8)
  level.raw = sub(raw, 1, place * 8) .. string.rep(struct.pack('>d', instant), count) .. sub(raw, place * 8 + 1)
  level.size = level.size + count
end

-- The entry that is the nth of those that count, from 1, or the stamp of those to be appended.
local function nth(level, n)
  local i = level.first + n - 1
  if level.granted > 0 then
    local place = upTo(level, level.given)
    if i >= place + level.granted then i = i - level.granted elseif i >= place then return level.given end
  end
  return i < level.size and at(level, i) or level.stamp
end

local function grant(level, policy, taken, rejected, reply)
  local count, n, lease = used(level), #reply, policy[5]
  reply[n + 1], reply[n + 2], reply[n + 3] = count, count > 0 and level.newest + lease - now or 0, 0
  if taken > 0 then insert(level, now - lease + policy[7], taken) end
  local excess = count + taken + policy[2] - policy[4]
  if rejected and excess > 0 and excess <= count + taken then reply[n + 3] = nth(level, excess) + lease - now end
  return level
end

function log.charge(level, policy, times, rejected, reply)
  local take, lease, held = policy[3], policy[5], policy[6] or 0
  if policy[7] then return grant(level, policy, times * take, rejected, reply) end
  if held == 0 then return charge(level, policy, times, rejected, reply) end
  charge(level, policy, 0, rejected, reply)
  local known = isHeld(level, policy)
  reply[#reply + 1] = known and 1 or 0
  if times == 0 then return level end
  local stamp = level.stamp
  if known then log.remove(level, policy, held - lease, take) end
  level.added, level.stamp, level.newest, level.drop = level.added + take, stamp, stamp, false
  return level
end

return log
