-- Decides any batch of requests and settlements: loads every state once, decides the rows in order, writes each changed key once.
-- lua/README.md says which batches lean.lua decides in less time.
--
-- KEYS     each key of the batch, once: at most 127. For a node of a Cluster the first one alone: see keys.lua
-- ARGV[1]  'redis' to decide by TIME, or the instant of the application's clock
-- ARGV[2]  the skew: how much further ahead a stored instant may lie than its algorithm can have put it; 0 with the Redis clock
-- ARGV[3]  the policies as JSON, at most 63: [[algorithm, ask, take, the algorithm's numbers ...], ...]
--          ask: what has to fit, from 1: the cost and the headroom; take: the cost that an allowed request is charged, 0 for a peek
--          A reservation's policy ends with 1 where the algorithm has a refund marker: its reply is longer.
--          algorithm 'shadow:token-bucket': the charge is made if the request is allowed and it fits, and rejects nobody
--          algorithm 'instead:token-bucket': an alternative: the charge is made if the request fits none of those before it, back to
--          the first one that is no alternative
--          algorithm 'block', or 'escalating-block': the block of the charge before it, which counts that charge's rejections
-- ARGV[4]  the charges, 4 bytes of 7 bits each: policy (+ 64 if the request has another charge), key, and the number of
--          identical requests in a row (high, low; the same in all charges of a request). Without a number the row settles
--          charges that were made before; their policies have cost 1
-- ARGV[5]  the numbers of the settled charges in their order, as JSON: [at, reset at, cost, final cost, overdraft, how many numbers
--          the refund marker has, and these; the same of the next one ...]; '' without any
-- ARGV[6 ...] for a node of a Cluster: the other keys
-- returns  now; then for each request the numbers that describe the level of each of its charges before the request. A request
--          whose key holds a foreign type or an unreadable state, or lies on another node, gets one number instead: FOREIGN,
--          UNREADABLE or ELSEWHERE, and nothing is charged for it. For each settled charge of a row: what was refunded (a bucket: in
--          ticks), and what was charged
--
-- Every instant and duration is in whole microseconds. The caller derives each verdict from the reply.
--
-- An algorithm is a table of functions, built only when the batch needs it. A policy is a row of ARGV[3] with the table in
-- place of the name. A level is the state seen from now, in a form that only its algorithm knows.
--   read(raw, policy, k) -> level, rebased, forget raw: false without a state; level: nil if unreadable; rebased: the state lay
--                                                  too far ahead and must be written; forget: when the stored state ends;
--                                                  k: the number of the key
--   room(level, policy, k) -> how many requests pass, one after the other: each needs `ask` and takes `take`. From 1 on it is enough for
--                                                  any number of peeks
--   charge(level, policy, times, rejected, reply, k) -> the level after `times` charges; appends the level before them to reply;
--                                                  rejected: whether some of the requests in the row do not pass
--   write(level, policy, k) -> value, forget, unfinished     no value: nothing to SET; forget: when the written state ends;
--                                                  unfinished: whether `finish` has to run
--   refund(level, policy, k, refundable, at, resetAt, cost, before, total) -> the level without that part of the charge's cost,
--                                                  and what was refunded; or nil. `before` and `total` are the refund marker.
--                                                  It is defined as `settling and function ...`: only settlements need it
--   rest(level, policy, overdraft, k) -> the cost that can be charged up to the limit and the overdraft (optional; as `refund`)
--   other(policy, key) -> as read, for a key that MGET cannot read (optional)
--   finish(level, policy, key)                     runs once every SET is done (optional)
--
-- What a level holds beside a number stands in tables of its algorithm, by the number of the key: a table for each key costs more.
local FOREIGN, UNREADABLE, ELSEWHERE = -1, -2, -3
local floor, ceil, max, min = math.floor, math.ceil, math.max, math.min
local byte, sub, find, format = string.byte, string.sub, string.find, string.format
local redis, ARGV = redis, ARGV

local now, skew, settling = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[5] ~= '' and ARGV[5]
local redisClock = not now
if redisClock then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end

local others = 6 -- where they stand in ARGV
--- @include "keys.lua"
local raws, unread
--- @include "load.lua"
--- @include "text.lua"

-- True if the batch has shadows, blocks or alternatives, which may be charged a different number of times than the rest of their row.
local apart
local built = {} -- the algorithms, by their names
local function build(algorithm)
  --- @choose algorithm "algorithms/*.lua"
  if algorithm == 'block' then
    --- @include "block.lua"
  end
  if algorithm == 'escalating-block' then
    --- @include "escalating-block.lua"
  end
  --- @include "marked.lua"
end

local policies = cjson.decode(ARGV[3])
for i = 1, #policies do
  local name = policies[i][1]
  if not built[name] then built[name] = build(name) end
  policies[i][1] = built[name]
end

-- Phase one reads and decides. By the number of the key: the level (false: none), why there is none, the policy that writes it, and
-- when the stored state ends.
local levels, wrongs, writers, forgets, reply = {}, {}, {}, {}, { now }
--- @include "decide.lua"

-- Phase two writes.
--- @include "write.lua"
return reply
