-- Decides one row of one charge: identical requests of one policy, without a shadow, a block or a stamp. It answers and writes
-- exactly as program.lua does for that row, in less time: without JSON and without lists of keys, policies and charges. The
-- bundler makes one such program for each algorithm.
--
-- KEYS[1]   the key
-- ARGV      the algorithm's numbers; before them what `asked` needs
-- returns   as program.lua
--
-- There are two such programs for an algorithm, by what is asked: lean/one.lua and lean/any.lua.
local FOREIGN, UNREADABLE = -1, -2
local floor, ceil, max, min = math.floor, math.ceil, math.max, math.min
local byte, sub, find, format = string.byte, string.sub, string.find, string.format

local redis, ARGV = redis, ARGV
--- @asked
--- @include "text.lua"

-- The bundler makes locals of its items where an algorithm only reads the first ones.
local policy = {
  false,
  ask,
  take,
  ARGV[before + 1] and ARGV[before + 1] + 0,
  ARGV[before + 2] and ARGV[before + 2] + 0,
  ARGV[before + 3] and ARGV[before + 3] + 0,
  ARGV[before + 4] and ARGV[before + 4] + 0,
}
for i = 5, #ARGV - before do policy[i + 3] = ARGV[before + i] + 0 end

local settling = false
--- @algorithm

-- Reads and decides. To GET a key of another type is an error, which Redis counts. So where states can have another type MGET
-- and EXISTS tell them apart, as in program.lua; and so they do where GET fails, for whatever reason.
local key, raw, level, rebased, forget = KEYS[1], nil, nil, nil, nil
if not algorithm.other then raw = redis.pcall('GET', key) end
if algorithm.other or type(raw) == 'table' then
  raw = redis.call('MGET', key)[1]
  if not raw and redis.call('EXISTS', key) > 0 then
    if algorithm.other then
      level, rebased, forget = algorithm.other(policy, key)
      if not level then level, rebased = false, rebased or UNREADABLE end
    else
      level, rebased = false, FOREIGN
    end
  end
end
if level == nil then level, rebased, forget = algorithm.read(raw, policy, 1) end
if not level then return { now, rebased or UNREADABLE } end

local passing = algorithm.room(level, policy)
local admitted = times
-- A peek is not charged: if one of them fits, all do.
if passing < times and (take > 0 or passing <= 0) then admitted = passing end
if admitted < 0 then admitted = 0 end
local reply = { now, nil, nil, nil } -- with room for the level
level = algorithm.charge(level, policy, admitted, admitted < times, reply, 1)

-- Writes.
if rebased or admitted * take > 0 then
  local value, ends = algorithm.write(level, policy, 1)
  if value then
    local unit, time = expiry(ends, forget)
    if time then redis.call('SET', key, value, unit, time) else redis.call('SET', key, value, unit) end
  end
  if algorithm.finish then algorithm.finish(level, key) end
end
return reply
