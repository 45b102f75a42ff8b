-- Sliding window counter: the current window's count, plus the previous one's weighted by its share that is still in sight.
--
-- policy   { algorithm, ask, take, limit, window }    window in microseconds
-- state    the current window's first microsecond (16 digits), its count (16 digits), the previous window's count
-- level    current; beside it, previous and left: microseconds until the current window ends
-- reply    current, previous, left
local previouses, lefts = {}, {}

local function read(raw, policy, k)
  local window = policy[5]
  local start, current, previous, rebased, stored, rest = now - now % window, 0, 0, false, nil, nil
  if raw then
    stored, rest = instant(raw, 32)
    if not stored or #rest < 17 then return nil end
    local counted, before = sub(rest, 1, 16) + 0, sub(rest, 17) + 0
    if stored >= start then
      current, previous = counted, before
      -- A window never moves back. If it lies ahead by at most the skew, it continues. Further ahead, its counts move here.
      rebased = stored > now + skew
      if not rebased then start = stored end
    elseif stored == start - window then
      previous = counted
    end
  end
  previouses[k], lefts[k] = previous, start + window - now
  return current, rebased, stored and stored + 2 * window
end

-- Whole numbers decide as the product form does: previous x (window - elapsed) <= (limit - cost - current) x window.
local function used(current, policy, k)
  local window = policy[5]
  return current + ceil(previouses[k] * min(lefts[k], window) / window)
end

local function room(current, policy, k)
  local ask, take = policy[2], policy[3]
  return floor((policy[4] - used(current, policy, k) - ask) / (take > 0 and take or ask)) + 1
end

local function charge(current, policy, times, rejected, reply, k)
  local n = #reply
  reply[n + 1], reply[n + 2], reply[n + 3] = current, previouses[k], lefts[k]
  return current + times * policy[3]
end

-- Refunds to the window of the charge. If that is the previous window by now, a refund returns the weight that it still has.
local refund = settling and function(current, policy, k, refundable, _, resetAt)
  local previous, ends, after = previouses[k], now + lefts[k], current
  local before = used(current, policy, k)
  if ends + policy[5] == resetAt and current > 0 then
    after = current - min(refundable, current)
  elseif ends == resetAt and previous > 0 then
    previouses[k] = previous - min(refundable, previous)
  else
    return nil
  end
  return after, before - used(after, policy, k)
end

local rest = settling and function(current, policy, overdraft, k) return policy[4] + overdraft - used(current, policy, k) end

local function write(current, policy, k)
  local window, ends = policy[5], now + lefts[k]
  return digits(ends - window) .. both(current, previouses[k]), ends + window
end

return { read = read, room = room, charge = charge, write = write, refund = refund, rest = rest }
