-- Block: counts the rejections of the policy before it in the row, and rejects once there are `after` of them.
--
-- policy   { 'block', 1, take, after, duration }    duration in microseconds; take is 0 for a peek, whose rejection does not count
-- state    the instant at which the rejections are forgotten, and a block ends (16 digits), then their number
-- level    left: microseconds until then, count
-- reply    left, count
--
-- Here `charge` gets the number of rejections as `times`.
local function read(raw, policy)
  if not raw then return { left = 0, count = 0 } end
  local ends, rest = instant(raw, 16)
  if not ends or rest == '' then return nil end
  local after, duration = policy[4], policy[5]
  if ends <= now then return { left = 0, count = 0 }, false, ends end
  local level, rebased = { left = ends - now, count = min(after, rest + 0) }, ends > now + duration + skew
  -- Only a clock that stepped back makes a block longer.
  if rebased then level.left = duration end
  return level, rebased, ends
end

local function room(level, policy)
  return level.count < policy[4] and math.huge or 0
end

local function charge(level, policy, times, rejected, reply)
  local after, duration, n = policy[4], policy[5], #reply
  reply[n + 1], reply[n + 2] = level.left, level.count
  if times == 0 then return level end
  local count = min(after, level.count + times)
  local begins = level.count == 0 or count == after
  return { left = begins and duration or level.left, count = count }
end

local function write(level)
  local ends = now + level.left
  return digits(ends) .. plain(level.count), ends
end

apart = true
return { read = read, room = room, charge = charge, write = write, block = true }
