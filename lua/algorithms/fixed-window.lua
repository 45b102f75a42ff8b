-- Fixed window: at most `limit` in each window; windows are aligned to the clock.
--
-- policy   { algorithm, ask, take, limit, window }    window in microseconds
-- state    the window's first microsecond (16 digits), then the count
-- level    count, left: microseconds until the window ends
-- reply    count, left
local function read(raw, policy)
  local window = policy[5]
  local start, count, rebased, stored, rest = now - now % window, 0, false, nil, nil
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
  return { count = count, left = start + window - now }, rebased, stored and stored + window
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
local refund = ARGV[5] and function(level, policy, cost, settlement)
  local resetAt, refunded = settlement[2], min(cost, level.count)
  if refunded == 0 or now + level.left ~= resetAt then return nil end
  level.count = level.count - refunded
  return level, refunded
end

local rest = ARGV[5] and function(level, policy, overdraft) return policy[4] + overdraft - level.count end

local function write(level, policy)
  local window, ends = policy[5], now + level.left
  return digits(ends - window) .. plain(level.count), ends
end

return { read = read, room = room, charge = charge, write = write, refund = refund, rest = rest }
