-- Escalating block: a block that lasts longer each time its client comes back.
--
-- policy   { 'escalating-block', 1, take, after, durations ... }    as for a block; the durations increase
-- state    the instant at which the rejections are forgotten, and a block ends (16 digits), the instant at which the step is forgotten
--          (16 digits), the step: which duration the latest block had (2 digits; 0 before the first one), then the number of rejections
-- level    count; beside it, left and memory: microseconds until the two instants; step
-- reply    left, count, memory, step
--
-- Here `charge` gets the number of rejections as `times`.
local lefts, memories, steps = {}, {}, {}

local function read(raw, policy, k)
  lefts[k], memories[k], steps[k] = 0, 0, 0
  if not raw then return 0 end
  if #raw < 35 or #raw > 50 or not find(raw, '^%d+$') then return nil end
  local ends, forgotten, step = sub(raw, 1, 16) + 0, sub(raw, 17, 32) + 0, sub(raw, 33, 34) + 0
  local after, longest, rebased = policy[4], policy[#policy], false
  local count = min(after, sub(raw, 35) + 0)
  -- A step is remembered longer than its block lasts.
  local blocks = count == after
  if step > #policy - 4 or blocks and (step == 0 or forgotten < ends) then return nil end
  -- Only a clock that stepped back makes a block, or its memory, longer.
  local duration = policy[4 + (blocks and step or 1)]
  local memory = blocks and duration + longest or longest
  if ends > now then
    lefts[k] = ends - now
    if lefts[k] > duration + skew then lefts[k], rebased = duration, true end
  else
    count = 0
  end
  if step > 0 and forgotten > now then
    steps[k], memories[k] = step, forgotten - now
    if memories[k] > memory + skew then memories[k], rebased = memory, true end
  end
  return count, rebased, max(ends, forgotten)
end

local function room(count, policy)
  return count < policy[4] and math.huge or 0
end

local function charge(count, policy, times, rejected, reply, k)
  local after, n = policy[4], #reply
  reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4] = lefts[k], count, memories[k], steps[k]
  if times == 0 then return count end
  local sum = min(after, count + times)
  if sum == after then
    local step = min(#policy - 4, steps[k] + 1)
    steps[k], lefts[k], memories[k] = step, policy[4 + step], policy[4 + step] + policy[#policy]
  elseif count == 0 then
    lefts[k] = policy[5]
  end
  return sum
end

local function write(count, _, k)
  local ends, step = now + lefts[k], steps[k]
  local forgotten = step > 0 and now + memories[k] or 0
  return digits(ends) .. digits(forgotten) .. format('%02d%d', step, count), max(ends, forgotten)
end

apart = true
return { read = read, room = room, charge = charge, write = write, block = true }
