-- First-request window: at most `limit` in a window that the first request opens.
--
-- policy   { algorithm, ask, take, limit, window }    window in microseconds
-- state    the microsecond at which the window ends (16 digits), then the count
-- level    count, left: microseconds until the window ends
-- reply    count, left
local function read(raw, policy)
  local window = policy[5]
  if not raw then return { count = 0, left = window } end
  local ends, rest = instant(raw, 16)
  if not ends or rest == '' then return nil end
  local count = rest + 0
  if count == 0 or ends <= now then return { count = 0, left = window }, false, ends end
  local rebased = ends > now + window + skew
  return { count = count, left = rebased and window or ends - now }, rebased, ends
end

local function room(level, policy)
  local ask, take = policy[2], policy[3]
  return floor((policy[4] - level.count - ask) / (take > 0 and take or ask)) + 1
end

local function charge(level, policy, times, rejected, reply)
  local take, n = policy[3], #reply
  reply[n + 1], reply[n + 2] = level.count, level.left
  level.count = level.count + times * take
  return level
end

local refund = settling and function(level, policy, cost, settlement)
  local resetAt, refunded = settlement[2], min(cost, level.count)
  if refunded == 0 or now + level.left ~= resetAt then return nil end
  level.count = level.count - refunded
  return level, refunded
end

local function write(level)
  local ends = now + level.left
  return digits(ends) .. plain(level.count), ends
end

return { read = read, room = room, charge = charge, write = write, refund = refund }
