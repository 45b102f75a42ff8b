-- Sliding window counter: the current window's count and the previous one's, weighted by its share that is still in sight.
--
-- policy   { algorithm, cost, limit, window }    window in microseconds
-- state    the current window's first microsecond (16 digits), its count (16 digits), the previous window's count
-- level    { current, previous, microseconds until the current window ends }
-- reply    current, previous, microseconds until the current window ends
local function read(raw, policy)
  local window = policy[4]
  local start, current, previous, rebased, stored, rest = now - now % window, 0, 0, false, nil, nil
  if raw then
    stored, rest = instant(raw, 32)
    if not stored or #rest < 17 then return nil end
    local counted, before = sub(rest, 1, 16) + 0, sub(rest, 17) + 0
    if stored >= start then
      current, previous = counted, before
      -- A window never goes back: one that lies ahead by no more than the skew goes on; further ahead its counts move here.
      rebased = stored > now + skew
      if not rebased then start = stored end
    elseif stored == start - window then
      previous = counted
    end
  end
  return { current, previous, start + window - now }, rebased, stored and stored + 2 * window
end

-- previous x (window - elapsed) <= (limit - cost - current) x window, in whole numbers
local function room(level, policy, cost)
  local share = ceil(level[2] * min(level[3], policy[4]) / policy[4])
  return floor((policy[3] - level[1] - share) / cost)
end

local function charge(level, policy, times, refused, reply)
  local n = #reply
  reply[n + 1], reply[n + 2], reply[n + 3] = level[1], level[2], level[3]
  level[1] = level[1] + times * policy[2]
  return level
end

-- From the window it went to, which may be the previous one by now.
local refund = ARGV[5] and function(level, policy, at, resetAt)
  local ends = now + level[3]
  local n = ends + policy[4] == resetAt and 1 or ends == resetAt and 2
  if not n or level[n] == 0 then return nil end
  level[n] = max(0, level[n] - policy[2])
  return level
end

local function write(level, policy)
  local ends = now + level[3]
  return digits(ends - policy[4]) .. digits(level[1]) .. plain(level[2]), ends + policy[4]
end

return { read = read, room = room, charge = charge, write = write, refund = refund }
