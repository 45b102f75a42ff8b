-- Fixed window: at most `limit` in each window; windows are aligned to the clock or to a calendar.
--
-- policy   { algorithm, ask, take, limit, window }           window in microseconds
--          { algorithm, ask, take, limit, 0, edge, ... }     the first microseconds of four windows, the second of which is the
--                                                            current one by the caller's clock
-- state    the window's first microsecond (16 digits), then the count
-- level    count, left: microseconds until the window ends
-- reply    count, left

-- The window of a calendar that holds the instant `at`: its first microsecond, and that of the next one.
local function period(policy, at)
  local i = 7
  while i < #policy and policy[i] <= at do i = i + 1 end
  return policy[i - 1], policy[i]
end

local function read(raw, policy)
  local window, count, rebased, stored, rest = policy[5], 0, false, nil, nil
  local start = window > 0 and now - now % window or period(policy, now)
  if raw then
    stored, rest = instant(raw, 16)
    if not stored or rest == '' then return nil end
    -- A window never goes back: it goes on if it lies ahead by the skew at most. Further ahead, its count moves here.
    if stored >= start then
      count = rest + 0
      rebased = stored > now + skew
      if not rebased then start = stored end
    end
  end
  if window > 0 then return { count = count, left = start + window - now }, rebased, stored and stored + window end
  local _, ends = period(policy, start)
  local _, forget = period(policy, stored or start)
  return { count = count, left = ends - now }, rebased, stored and forget
end

local function room(level, policy)
  local ask, limit = policy[2], policy[4]
  return floor((limit - level.count) / ask)
end

local function charge(level, policy, times, rejected, reply)
  local take, n = policy[3], #reply
  reply[n + 1], reply[n + 2] = level.count, level.left
  level.count = level.count + times * take
  return level
end

-- Refunds a charge of the current window only.
local refund = settling and function(level, policy, cost, settlement)
  local resetAt, refunded = settlement[2], min(cost, level.count)
  if refunded == 0 or now + level.left ~= resetAt then return nil end
  level.count = level.count - refunded
  return level, refunded
end

local rest = settling and function(level, policy, overdraft) return policy[4] + overdraft - level.count end

local function write(level, policy)
  local window, ends = policy[5], now + level.left
  local start = window > 0 and ends - window or period(policy, ends - 1)
  return digits(start) .. plain(level.count), ends
end

return { read = read, room = room, charge = charge, write = write, refund = refund, rest = rest }
