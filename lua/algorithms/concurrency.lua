-- Concurrency: at most `limit` leases at once. A lease ends when it is released, or `lease` after it was taken or renewed.
--
-- policy   { algorithm, ask, take, limit, lease, held }    lease in microseconds; held: only of a renewal, when the lease ends
-- state    that of a sliding window log whose window is the lease: the instants at which the leases were taken or renewed. A
--          lease ends at its instant + lease; equal instants are interchangeable. A release is a refund.
-- level    that of the log
-- reply    that of the log; for a renewal one more number: 1 if the lease has not ended, else 0
--
-- A renewal moves its lease to now, even if the limit was lowered meanwhile. If the lease has ended, it takes another one, as
-- a new request would. A batch holds one renewal of a key.
local log = build('sliding-window-log')
local room, charge = log.room, log.charge

-- In a log that was rebased the lease cannot be found.
local function isHeld(level, policy)
  local take, lease, held = policy[3], policy[5], policy[6]
  if held <= now or level.cut > 0 then return false end
  return log.upTo(level, held - lease) - log.upTo(level, held - lease - 1) >= take
end

function log.room(level, policy)
  if policy[6] and isHeld(level, policy) then return 1 end
  return room(level, policy)
end

function log.charge(level, policy, times, rejected, reply)
  local take, lease, held = policy[3], policy[5], policy[6]
  if not held then return charge(level, policy, times, rejected, reply) end
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
