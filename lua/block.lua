-- Block: counts the rejections of the policy before it in the row, and rejects once there are `after` of them.
--
-- policy   { 'block', 1, take, after, duration }    duration in microseconds; take is 0 for a peek, whose rejection does not count
-- state    the instant at which the rejections are forgotten, and a block ends (16 digits), then their number
-- level    count; beside it, left: microseconds until then
-- reply    left, count
--
-- Here `charge` gets the number of rejections as `times`.
local lefts = {}

local function read(raw, policy, k)
  lefts[k] = 0
  if not raw then return 0 end
  local ends, rest = instant(raw, 16)
  if not ends or rest == '' then return nil end
  local after, duration = policy[4], policy[5]
  if ends <= now then return 0, false, ends end
  local rebased = ends > now + duration + skew
  -- Only a clock that stepped back makes a block longer.
  lefts[k] = rebased and duration or ends - now
  return min(after, rest + 0), rebased, ends
end

local function room(count, policy)
  return count < policy[4] and math.huge or 0
end

local function charge(count, policy, times, rejected, reply, k)
  local after, duration, n = policy[4], policy[5], #reply
  reply[n + 1], reply[n + 2] = lefts[k], count
  if times == 0 then return count end
  local sum = min(after, count + times)
  if count == 0 or sum == after then lefts[k] = duration end
  return sum
end

local function write(count, _, k)
  local ends = now + lefts[k]
  return both(ends, count), ends
end

apart = true
return { read = read, room = room, charge = charge, write = write, block = true }
