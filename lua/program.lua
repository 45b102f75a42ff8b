-- One batch of decisions: load every state once, decide each request in memory and in order, write each changed key once.
--
-- KEYS     every key of the batch, once each (at most 127)
-- ARGV[1]  'redis' to decide by TIME, or the application's clock in whole microseconds
-- ARGV[2]  microseconds a stored instant may lie further ahead than its algorithm can have put it (0 with the Redis clock)
-- ARGV[3]  the policies as JSON, [[algorithm, cost, the algorithm's numbers ...], ...] (at most 63); a cost of 0 only looks
--          whether 1 would pass, one below 0 whether as many would
-- ARGV[4]  the charges, 4 bytes of 7 bits each: policy (+ 64 when the request's next charge follows), key, and how many
--          times the request stands there in a row (high, low; the same in all of its charges)
-- ARGV[5]  in place of ARGV[4], which is empty then: what to give back, as JSON, [[at, reset at], ...] in microseconds, one for
--          each key, whose policy stands at the same place in ARGV[3]: the charge of its cost that was made at that instant
-- returns  whole numbers: now in microseconds, then for each request the numbers with which each of its charges' algorithms
--          describes its level *before* the request (the caller derives every decision from them), or FOREIGN or UNREADABLE
--          in their place when a key of the request holds a foreign type or a state that no algorithm wrote
--
-- An algorithm is built only when the batch uses it: a table of functions (policy: as in ARGV[3]; level: its own affair):
--   read(raw, policy) -> level, rebased, forget      raw false: no state; level nil: unreadable; rebased: to be written in any
--                                                    case; forget: the microsecond from which the state may be forgotten
--   room(level, policy, cost) -> how many requests of that cost would pass, one after the other
--   charge(level, policy, times, refused, reply) -> the level after them; appends what describes the level before them
--   write(level, policy) -> value, forget            no value: nothing to SET
--   refund(level, policy, at, resetAt) -> the level without that charge, or nil where nothing of it can be given back (made
--                                                    only where ARGV[5] asks for it)
--   other(policy, key) -> as read, for a key that MGET cannot read    finish(level, key): once every SET is done   (both optional)
local FOREIGN, UNREADABLE, MINUTE, MORE = -1, -2, 60000, 64
local floor, ceil, max, min = math.floor, math.ceil, math.max, math.min
local byte, sub, find, format = string.byte, string.sub, string.find, string.format

local now, skew = tonumber(ARGV[1]), tonumber(ARGV[2])
local redisClock = not now
if redisClock then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end

-- A state is digits only (to Lua 'inf', 'nan', hex and blanks are numbers too): the 16 of an instant, then at most `more`.
-- Given back as the instant and the text behind it.
local function instant(raw, more)
  if #raw < 16 or #raw > 16 + more or not find(raw, '^%d+$') then return nil end
  if #raw == 16 then return raw + 0, '' end
  return sub(raw, 1, 16) + 0, sub(raw, 17)
end

-- Whole numbers as text. Numbers that are printed as doubles ('%.0f', or handed to redis.call) go by way of big numbers and
-- take twice as long; '%d' takes a C long, which can have 32 bits.
local function digits(n) return format('%08d%08d', floor(n / 1e8), n % 1e8) end -- all 16 of them, n < 10^16
local function plain(n) return n < 2 ^ 31 and format('%d', n) or format('%.0f', n) end

-- With the Redis clock a key goes at the end of the second in which it may: then the next state mostly has the same expiry,
-- and leaving that alone is a third of what a SET costs. The application's clock may be behind, so there a key has a minute
-- to spare. `stored` is the instant from which the state in Redis may be forgotten.
local lastSecond, lastText
local function expiry(at, stored)
  if not redisClock then return 'PX', ceil((at - now) / 1000) + MINUTE end
  local second = ceil(at / 1e6)
  if stored and second == ceil(stored / 1e6) then return 'KEEPTTL' end
  if second ~= lastSecond then lastSecond, lastText = second, plain(second) end
  return 'EXAT', lastText
end

local function build(algorithm)
  --@algorithms
end

local policies, built = cjson.decode(ARGV[3]), {}
for i = 1, #policies do
  local number = policies[i][1]
  if not built[number] then built[number] = build(number) end
  local policy, cost = policies[i], policies[i][2]
  policy.algorithm, policy.ask = built[number], cost
  if cost < 1 then policy.ask, policy[2] = cost < 0 and -cost or 1, 0 end
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
local owners, levels, changed, forgets, reply = {}, {}, {}, {}, { now }
if ARGV[5] then
  local taken = cjson.decode(ARGV[5])
  for k = 1, #KEYS do
    local policy, level, rebased = policies[k], nil, nil
    level, rebased, forgets[k] = load(policy, k)
    -- Of a state that is gone there is nothing to give back; a clock that stepped back has moved it to nobody knows where.
    level = (raws[k] or foreign) and level and not rebased and policy.algorithm.refund(level, policy, taken[k][1], taken[k][2])
    owners[k], levels[k], changed[k] = policy, level, true
  end
end
local charges, at = ARGV[4], 1
while at <= #charges do
  local first, failed = at, nil
  local p, k, high, low = byte(charges, at, at + 3)
  local count = high * 128 + low
  local admitted = count
  while true do
    local policy, level = policies[p % MORE], levels[k]
    if level == nil then
      local wrong
      level, wrong, forgets[k] = load(policy, k)
      if not level then level, wrong = false, wrong or UNREADABLE end
      owners[k], levels[k], changed[k] = policy, level, wrong
    end
    if level then
      local room = policy.algorithm.room(level, policy, policy.ask)
      -- A peek takes nothing: where one fits, all do.
      if room < admitted and (policy[2] > 0 or room <= 0) then admitted = room end
    else
      failed = failed or changed[k]
    end
    at = at + 4
    if p < MORE then break end
    p, k = byte(charges, at, at + 1)
  end
  if failed then
    reply[#reply + 1] = failed
  else
    if admitted < 0 then admitted = 0 end
    for i = first, at - 4, 4 do
      local p, k = byte(charges, i, i + 1)
      local policy = policies[p % MORE]
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
    if value then redis.call('SET', KEYS[k], value, expiry(forget, forgets[k])) end
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
