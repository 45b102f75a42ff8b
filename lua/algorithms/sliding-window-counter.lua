-- Sliding window counter: the current window's count, plus the previous one's weighted by its share that is still in sight.
--
-- policy   { algorithm, ask, take, limit, window }    window in microseconds
-- state    the current window's first microsecond (16 digits), its count (16 digits), the previous window's count
-- level    current, previous, left: microseconds until the current window ends
-- reply    current, previous, left
local function read(raw, policy)
  local window = policy[5]
  local start, current, previous, rebased, stored, rest = now - now % window, 0, 0, false, nil, nil
  if raw then
    stored, rest = instant(raw, 32)
    if not stored or #rest < 17 then return nil end
    local counted, before = sub(rest, 1, 16) + 0, sub(rest, 17) + 0
    if stored >= start then
      current, previous = counted, before
      -- A window never goes back: it goes on if it lies ahead by the skew at most. Further ahead, its counts move here.
      rebased = stored > now + skew
      if not rebased then start = stored end
    elseif stored == start - window then
      previous = counted
    end
  end
  return { current = current, previous = previous, left = start + window - now }, rebased, stored and stored + 2 * window
end

-- Whole numbers decide as the product form does: previous x (window - elapsed) <= (limit - cost - current) x window.
local function used(level, policy)
  local window = policy[5]
  return level.current + ceil(level.previous * min(level.left, window) / window)
end

local function room(level, policy)
  local ask, limit = policy[2], policy[4]
  return floor((limit - used(level, policy)) / ask)
end

local function charge(level, policy, times, rejected, reply)
  local take, n = policy[3], #reply
  reply[n + 1], reply[n + 2], reply[n + 3] = level.current, level.previous, level.left
  level.current = level.current + times * take
  return level
end

-- Refunds to the window of the charge. If that is the previous one by now, a refund gives back what it still weighs.
local refund = settling and function(level, policy, cost, settlement)
  local resetAt, window, ends = settlement[2], policy[5], now + level.left
  local charged = ends + window == resetAt and 'current' or ends == resetAt and 'previous'
  if not charged or level[charged] == 0 then return nil end
  local before = used(level, policy)
  level[charged] = level[charged] - min(cost, level[charged])
  return level, before - used(level, policy)
end

local rest = settling and function(level, policy, overdraft) return policy[4] + overdraft - used(level, policy) end

local function write(level, policy)
  local window, ends = policy[5], now + level.left
  return digits(ends - window) .. digits(level.current) .. plain(level.previous), ends + window
end

return { read = read, room = room, charge = charge, write = write, refund = refund, rest = rest }
