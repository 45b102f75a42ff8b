-- One batch of decisions: load every state once, decide each request in memory and in order, write each changed key once.
--
-- KEYS     every key of the batch, once each (at most 127)
-- ARGV[1]  'redis' to decide by TIME, or the application's clock in whole microseconds
-- ARGV[2]  microseconds a stored instant may lie further ahead than its algorithm can have put it (0 with the Redis clock)
-- ARGV[3]  the policies as JSON, [[algorithm, cost, the algorithm's numbers ...], ...] (at most 63)
-- ARGV[4]  the charges, 4 bytes of 7 bits each: policy (+ 64 when the request's next charge follows), key, and how many
--          times the request stands there in a row (high, low; the same in all of its charges)
-- returns  whole numbers: now in microseconds, then for each request the numbers with which each of its charges' algorithms
--          describes its level *before* the request (the caller derives every decision from them), or FOREIGN or UNREADABLE
--          in their place when a key of the request holds a foreign type or a state that no algorithm wrote
--
-- An algorithm is built only when the batch uses it: a table of functions (policy: as in ARGV[3]; level: its own affair):
--   read(raw, policy) -> level, rebased              raw nil: no state; level nil: unreadable; rebased: to be written in any case
--   room(level, policy, cost) -> how many requests of that cost would pass, one after the other
--   charge(level, policy, times, refused, reply) -> the level after them; appends what describes the level before them
--   write(level, policy) -> value, microsecond from which it may be forgotten; no value: nothing to SET
--   other(policy, key) -> as read, for a key that MGET cannot read    finish(level, key): once every SET is done   (both optional)
local FOREIGN, UNREADABLE, MINUTE = -1, -2, 60000
local floor, ceil, max, min = math.floor, math.ceil, math.max, math.min
local byte, sub, find, format = string.byte, string.sub, string.find, string.format

local now, skew = tonumber(ARGV[1]), tonumber(ARGV[2])
local redisClock = not now
if redisClock then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end

-- A state is digits only (to Lua 'inf', 'nan', hex and blanks are numbers too): the 16 of an instant, then at most `more`.
local function instant(raw, more)
  if #raw < 16 or #raw > 16 + more or find(raw, '%D') then return nil end
  return tonumber(sub(raw, 1, 16)), sub(raw, 17)
end

-- Whole numbers as text. Numbers that are printed as doubles ('%.0f', or handed to redis.call) go by way of big numbers and
-- take twice as long; '%d' takes a C long, which can have 32 bits.
local function digits(n) return format('%08d%08d', floor(n / 1e8), n % 1e8) end -- all 16 of them, n < 10^16
local function plain(n) return n < 2 ^ 31 and format('%d', n) or format('%.0f', n) end

-- With the Redis clock a key goes at its instant; the application's clock may be behind, so there it has a minute to spare.
local function expiry(at)
  if not redisClock then return 'PX', ceil((at - now) / 1000) + MINUTE end
  local time = ceil(at / 1000)
  return 'PXAT', format('%d%06d', floor(time / 1e6), time % 1e6)
end

local function build(algorithm)
  --@algorithms
end

local policies, built = cjson.decode(ARGV[3]), {}
for i = 1, #policies do
  local number = policies[i][1]
  if not built[number] then built[number] = build(number) end
  policies[i].algorithm = built[number]
end

-- Phase one: read and decide. MGET answers nil for a missing key and a foreign type alike; EXISTS tells them apart.
local raws, absent = redis.call('MGET', unpack(KEYS)), nil
for k = 1, #KEYS do
  if not raws[k] then
    absent = absent or {}
    absent[#absent + 1] = KEYS[k]
  end
end
local foreign = absent and redis.call('EXISTS', unpack(absent)) > 0

local function load(policy, k)
  local raw, algorithm = raws[k], policy.algorithm
  if raw or not foreign or redis.call('EXISTS', KEYS[k]) == 0 then return algorithm.read(raw, policy) end
  if algorithm.other then return algorithm.other(policy, KEYS[k]) end
  return nil, FOREIGN
end

-- Of each key: its policy, its level (false: it has none), and whether to write it (or what is wrong with it).
local owners, levels, changed, reply = {}, {}, {}, { now }
local charges, at = ARGV[4], 1
while at <= #charges do
  local first, admitted, count, failed = at, nil, nil, nil
  repeat
    local p, k, high, low = byte(charges, at, at + 3)
    local policy = policies[p % 64]
    count = high * 128 + low
    if not owners[k] then
      local level, rebased = load(policy, k)
      if not level then level, rebased = false, rebased or UNREADABLE end
      owners[k], levels[k], changed[k] = policy, level, rebased
    end
    if levels[k] then
      local room = policy.algorithm.room(levels[k], policy, max(policy[2], 1))
      if policy[2] == 0 and room > 0 then room = count end -- a peek takes nothing: where one fits, all do
      admitted = min(admitted or count, room)
    else
      failed = failed or changed[k]
    end
    at = at + 4
  until p < 64
  if failed then
    reply[#reply + 1] = failed
  else
    if admitted < 0 then admitted = 0 end
    for i = first, at - 4, 4 do
      local p, k = byte(charges, i, i + 1)
      local policy = policies[p % 64]
      levels[k] = policy.algorithm.charge(levels[k], policy, admitted, admitted < count, reply)
      if admitted * policy[2] > 0 then changed[k] = true end
    end
  end
end

-- Phase two: write. SET first: Redis checks its memory at a script's first write, so a batch is written whole or not at all.
local finishing
for k = 1, #KEYS do
  local policy, level = owners[k], levels[k]
  if level and changed[k] then
    local value, forget = policy.algorithm.write(level, policy)
    if value then redis.call('SET', KEYS[k], value, expiry(forget)) end
    if policy.algorithm.finish then
      finishing = finishing or {}
      finishing[#finishing + 1] = k
    end
  end
end
for i = 1, finishing and #finishing or 0 do
  local k = finishing[i]
  owners[k].algorithm.finish(levels[k], KEYS[k])
end
return reply
