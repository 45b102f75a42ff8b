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
-- An algorithm is built only when the batch uses it. It gives (policy: as in ARGV[3]; level: its own affair):
--   read(raw, policy) -> level, rebased              raw nil: no state; level nil: unreadable; rebased: to be written in any case
--   room(level, policy, cost) -> how many requests of that cost would pass, one after the other
--   charge(level, policy, times, refused, reply) -> the level after them; appends what describes the level before them
--   write(level, policy, key) -> value, microsecond from which it may be forgotten; no value: nothing to SET
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

-- A state is digits only (to Lua 'inf', 'nan', hex and blanks are numbers too): the 16 of an instant, then the rest.
local function instant(raw)
  if #raw < 16 or find(raw, '%D') then return nil end
  return tonumber(sub(raw, 1, 16)), sub(raw, 17)
end

-- With the Redis clock a key goes at its instant; the application's clock may be behind, so there it has a minute to spare.
local function expiry(at)
  if redisClock then return 'PXAT', ceil(at / 1000) end
  return 'PX', ceil((at - now) / 1000) + MINUTE
end

local function build(algorithm)
  --@algorithms
end

local policies, built = cjson.decode(ARGV[3]), {}
for _, policy in ipairs(policies) do
  local id = policy[1]
  built[id] = built[id] or { build(id) }
  policy.read, policy.room, policy.charge, policy.write, policy.other, policy.finish = unpack(built[id])
end

-- Phase one: read and decide. MGET answers nil for a missing key and a foreign type alike; EXISTS tells them apart.
local raws, absent = redis.call('MGET', unpack(KEYS)), {}
for k = 1, #KEYS do
  if not raws[k] then absent[#absent + 1] = KEYS[k] end
end
local foreign = #absent > 0 and redis.call('EXISTS', unpack(absent)) > 0

local function load(policy, raw, key)
  if raw or not foreign or redis.call('EXISTS', key) == 0 then return policy.read(raw, policy) end
  if policy.other then return policy.other(policy, key) end
  return nil, FOREIGN
end

local levels, changed, owners, broken, reply = {}, {}, {}, {}, { now }
local charges, at = ARGV[4], 1
while at <= #charges do
  local first, admitted, count, failed = at, nil, nil, nil
  repeat
    local p, k, high, low = byte(charges, at, at + 3)
    local policy = policies[p % 64]
    count = high * 128 + low
    if not owners[k] then
      levels[k], changed[k] = load(policy, raws[k], KEYS[k])
      owners[k] = policy
      if not levels[k] then broken[k] = changed[k] or UNREADABLE end
    end
    failed = failed or broken[k]
    if not failed then
      admitted = min(admitted or count, policy.room(levels[k], policy, max(policy[2], 1)))
    end
    at = at + 4
  until p < 64
  if failed then
    reply[#reply + 1] = failed
  else
    for i = first, at - 4, 4 do
      local p, k = byte(charges, i, i + 1)
      local policy, times = policies[p % 64], max(admitted, 0)
      levels[k] = policy.charge(levels[k], policy, times, times < count, reply)
      changed[k] = changed[k] or times * policy[2] > 0
    end
  end
end

-- Phase two: write. SET first: Redis checks its memory at a script's first write, so a batch is written whole or not at all.
local finishing = {}
for k, policy in ipairs(owners) do
  if changed[k] and not broken[k] then
    local value, forget = policy.write(levels[k], policy, KEYS[k])
    if value then redis.call('SET', KEYS[k], value, expiry(forget)) end
    if policy.finish then finishing[#finishing + 1] = k end
  end
end
for _, k in ipairs(finishing) do owners[k].finish(levels[k], KEYS[k]) end
return reply
