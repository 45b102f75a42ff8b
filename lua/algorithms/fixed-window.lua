-- Fixed window: at most `limit` in each window; windows are aligned to the clock, to a calendar or to first requests.
--
-- policy   { algorithm, ask, take, limit, window }           window in microseconds
--          { algorithm, ask, take, limit, window, 1 }        a window begins with the first request that is charged
--          { algorithm, ask, take, limit, 0, edge, ... }     the first microseconds of four windows, the second of which is the
--                                                            current one by the caller's clock
-- state    the window's first microsecond (16 digits), then the count
-- level    count; beside it, left: microseconds until the window ends
-- reply    count, left

local lefts = {}

-- The window of a calendar that holds the instant `at`: its first microsecond, and that of the next one.
local function period(policy, at)
  local i = 7
  while i < #policy and policy[i] <= at do i = i + 1 end
  return policy[i - 1], policy[i]
end

local function read(raw, policy, k)
  local window, count, rebased, stored, rest = policy[5], 0, false, nil, nil
  local start = window > 0 and (policy[6] and now or now - now % window) or period(policy, now)
  if raw then
    stored, rest = instant(raw, 16)
    if not stored or rest == '' then return nil end
    -- A window stands to its end, and never moves back. If it lies ahead by at most the skew, it continues. Further ahead, its count
    -- moves here.
    if stored >= start or stored > now - window then
      count = rest + 0
      rebased = stored > now + skew
      if not rebased then start = stored end
    end
  end
  if window > 0 then
    lefts[k] = start + window - now
    return count, rebased, stored and stored + window
  end
  local _, ends = period(policy, start)
  local _, forget = period(policy, stored or start)
  lefts[k] = ends - now
  return count, rebased, stored and forget
end

local function room(count, policy)
  local ask, take = policy[2], policy[3]
  local unit, spare = take > 0 and take or ask, policy[4] - count - ask
  return (spare - spare % unit) / unit + 1
end

local function charge(count, policy, times, rejected, reply, k)
  local n = #reply
  reply[n + 1], reply[n + 2] = count, lefts[k]
  return count + times * policy[3]
end

-- Refunds a charge of the current window only.
local refund = settling and function(count, policy, k, refundable, _, resetAt)
  local refunded = min(refundable, count)
  if refunded == 0 or now + lefts[k] ~= resetAt then return nil end
  return count - refunded, refunded
end

local rest = settling and function(count, policy, overdraft) return policy[4] + overdraft - count end

local function write(count, policy, k)
  local window, ends = policy[5], now + lefts[k]
  local start = window > 0 and ends - window or period(policy, ends - 1)
  return both(start, count), ends
end

return { read = read, room = room, charge = charge, write = write, refund = refund, rest = rest }
