-- Fixed window: at most `limit` in each window; windows are aligned to the clock.
--
-- policy   { algorithm, cost, limit, window }    window in microseconds
-- state    the window's first microsecond (16 digits), then the count
-- level    { count, microseconds until the window ends }
-- reply    count, microseconds until the window ends
local function read(raw, policy)
  local window = policy[4]
  local start, count, rebased, stored, rest = now - now % window, 0, false, nil, nil
  if raw then
    stored, rest = instant(raw, 16)
    if not stored or rest == '' then return nil end
    -- A window never goes back: one that lies ahead by no more than the skew goes on; further ahead its count moves here.
    if stored >= start then
      count = rest + 0
      rebased = stored > now + skew
      if not rebased then start = stored end
    end
  end
  return { count, start + window - now }, rebased, stored and stored + window
end

local function room(level, policy, cost)
  return floor((policy[3] - level[1]) / cost)
end

local function charge(level, policy, times, refused, reply)
  reply[#reply + 1], reply[#reply + 2] = level[1], level[2]
  level[1] = level[1] + times * policy[2]
  return level
end

-- In the same window only.
local refund = ARGV[5] and function(level, policy, at, resetAt)
  if level[1] == 0 or now + level[2] ~= resetAt then return nil end
  level[1] = max(0, level[1] - policy[2])
  return level
end

local function write(level, policy)
  local ends = now + level[2]
  return digits(ends - policy[4]) .. plain(level[1]), ends
end

return { read = read, room = room, charge = charge, write = write, refund = refund }
