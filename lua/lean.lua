-- Decides rows of one charge each, all of one policy, each on a key of its own, without a shadow, a block or a refund marker. It answers and
-- writes exactly as program.lua does for these rows, in less time: without JSON and without lists of policies and charges.
--
-- The bundler makes one such program for each file of lean/, whose name stands in the place of ALGORITHM.
--
-- KEYS     the key of each row. For a node of a Cluster the first one alone: see keys.lua
-- ARGV[1]  '' for cost 1 by Redis's clock; 'ask' for the same in a class with priorities, which asks for more than it takes; else
--          'now skew ask take': ARGV[1] and ARGV[2] of program.lua, and the costs of its policies
-- ARGV[2]  '' if each row is one request, else the number of identical requests of each row, in 2 bytes of 7 bits (high, low)
-- ARGV[3]  how many numbers the algorithm has; these numbers follow; then, for a node of a Cluster, the other keys
-- returns  as program.lua
local FOREIGN, UNREADABLE, ELSEWHERE = -1, -2, -3
local floor, ceil, max, min = math.floor, math.ceil, math.max, math.min
local byte, sub, find, format = string.byte, string.sub, string.find, string.format
local redis, ARGV = redis, ARGV

local asked, counts, others = ARGV[1], ARGV[2], 4 + ARGV[3]
local now, skew, ask, take, unit = nil, 0, 1, 1, 1
if asked ~= '' then
  ask = tonumber(asked)
  if not ask then
    local _
    _, _, now, skew, ask, take = find(asked, '^(%S+) (%S+) (%S+) (%S+)$')
    now, skew, ask, take = tonumber(now), skew + 0, ask + 0, take + 0
    unit = take > 0 and take or ask
  end
end
local redisClock = not now
if redisClock then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end

--- @include "keys.lua"

-- GET reads one key faster than MGET. But it fails on a list, which a log can be, and Redis counts the error.
local rows, single, raws, unread = #KEYS, nil, nil, nil
if rows == 1 and 'ALGORITHM' ~= 'sliding-window-log' and 'ALGORITHM' ~= 'concurrency' then
  single = redis.pcall('GET', KEYS[1])
  if type(single) == 'table' then single = nil end
end
if single == nil then
  --- @include "load.lua"
end

-- First, the hand-written code for plain states. It has no functions, which a script would make anew in each call. A file of lean/
-- has the algorithm's first four numbers in a, b, c and d, and in `unit` what each request of a row leaves to the next one. It adds the level to `reply`, and sets:
--
-- plain    false if it leaves the batch to the algorithm's own functions, below. Nothing is written then.
-- forget   when the stored state ends
-- value, ends    what to write, and when that ends
local plain, reply = not unread, { now, nil, nil, nil }
local a, b, c, d = ARGV[4] + 0, ARGV[5] + 0, others > 6 and ARGV[6] + 0, others > 7 and ARGV[7] + 0
local values, times, lastSecond, lastTime
if rows > 1 then values, times = {}, {} end
for k = 1, plain and rows or 0 do
  local raw, count, value, ends, forget = single, 1, nil, nil, nil
  if raw == nil then raw = raws[k] end
  if counts ~= '' then count = byte(counts, 2 * k - 1) * 128 + byte(counts, 2 * k) end
  --- @include "lean/ALGORITHM.lua"
  if value then
    -- Finds the expiry, like `expiry` in text.lua.
    local second, time = ceil(ends / 1e6), nil
    if not redisClock then
      time = max(1, ceil((ends - now) / 1000) + 60000)
    elseif not forget or second ~= ceil(forget / 1e6) then
      if second ~= lastSecond then lastSecond, lastTime = second, format(second < 2 ^ 31 and '%d' or '%.0f', second) end
      time = lastTime
    end
    if values then
      values[k], times[k] = value, time
    elseif time then
      redis.call('SET', KEYS[1], value, redisClock and 'EXAT' or 'PX', time)
    else
      redis.call('SET', KEYS[1], value, 'KEEPTTL')
    end
  end
end
if plain then
  for k = 1, values and rows or 0 do
    local value, time = values[k], times[k]
    if time then
      redis.call('SET', KEYS[k], value, redisClock and 'EXAT' or 'PX', time)
    elseif value then
      redis.call('SET', KEYS[k], value, 'KEEPTTL')
    end
  end
  return reply
end

-- The algorithm's own functions decide everything else, as in program.lua.
raws, reply = raws or { single }, { now }
--- @include "text.lua"
local settling = false
local function build(algorithm)
  --- @choose algorithm "algorithms/*.lua"
end
local algorithm = build('ALGORITHM')
local policy = { algorithm, ask, take }
for i = 4, others - 1 do policy[i] = ARGV[i] + 0 end

local read, room, charge, write = algorithm.read, algorithm.room, algorithm.charge, algorithm.write
local other, finish = algorithm.other, algorithm.finish

-- Reads and decides. A row to write has a level here.
local levels, forgets, reply = {}, {}, { now }
for k = 1, rows do
  local why, level, wrong, forget = unread and unread[k], nil, nil, nil
  if not why then
    level, wrong, forget = read(raws[k], policy, k)
  elseif why == FOREIGN and other then
    level, wrong, forget = other(policy, KEYS[k])
  else
    wrong = why
  end
  if level then
    local count = counts == '' and 1 or byte(counts, 2 * k - 1) * 128 + byte(counts, 2 * k)
    local admitted = room(level, policy, k)
    -- A peek is not charged: if one of them fits, all do.
    if admitted >= count or take == 0 and admitted > 0 then admitted = count end
    if admitted < 0 then admitted = 0 end
    level = charge(level, policy, admitted, admitted < count, reply, k)
    if wrong or admitted * take > 0 then levels[k], forgets[k] = level, forget end
  else
    reply[#reply + 1] = wrong or UNREADABLE
  end
end

-- Writes, as write.lua does.
local unfinished = {}
for k = 1, rows do
  if levels[k] then
    local value, forget
    value, forget, unfinished[k] = write(levels[k], policy, k)
    if value then redis.call('SET', KEYS[k], value, expiry(forget, forgets[k])) end
  end
end
for k = 1, rows do
  if unfinished[k] then finish(levels[k], policy, KEYS[k]) end
end
return reply
