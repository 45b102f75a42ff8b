-- Decides a batch on one node of a Cluster, as lua/program.lua with the files of this folder does, in less time: each row is one
-- request of one charge, all of one policy and of cost 1, by Redis's clock, and each key stands in one row. Without JSON, without
-- lists of policies and charges. The bundler makes such a program for some algorithms.
--
-- KEYS     the key of the first row
-- ARGV     the keys of the other rows, the algorithm's numbers, the number of rows
-- returns  as lua/node/arguments.lua says
local FOREIGN, UNREADABLE, ELSEWHERE = -1, -2, -3
local floor, ceil, max, min = math.floor, math.ceil, math.max, math.min
local byte, sub, find, format = string.byte, string.sub, string.find, string.format

local redis, ARGV = redis, ARGV
local rows = ARGV[#ARGV] + 0
local before = rows - 1
ARGV[#ARGV] = nil
ARGV[0] = KEYS[1] -- row k has the key ARGV[k - 1]
local redisClock, skew, ask, take, times = true, 0, 1, 1, 1
local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
--- @include "../text.lua"

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

-- Reads and decides. A row to write has a level here.
local levels, forgets, reply = {}, {}, { now }
for k = 1, rows do
  local raw, level, rebased, forget = redis.pcall('GET', ARGV[k - 1]), nil, nil, nil
  if type(raw) == 'table' then
    level = false
    if find(raw.err, 'WRONGTYPE', 1, true) then
      rebased = FOREIGN
    elseif find(raw.err, 'non local key', 1, true) then
      rebased = ELSEWHERE
    else
      return { err = 'UNDECLARED ' .. raw.err }
    end
  else
    level, rebased, forget = algorithm.read(raw, policy, k)
  end
  if level then
    local passing, admitted = nil, times
    passing = algorithm.room(level, policy)
    if passing < times then admitted = passing end
    if admitted < 0 then admitted = 0 end
    level = algorithm.charge(level, policy, admitted, admitted < times, reply, k)
    if rebased or admitted > 0 then levels[k], forgets[k] = level, forget end
  else
    reply[#reply + 1] = rebased or UNREADABLE
  end
end

-- Writes.
for k = 1, rows do
  local level = levels[k]
  if level then
    local value, ends = algorithm.write(level, policy, k)
    if value then
      local unit, time = expiry(ends, forgets[k])
      if time then redis.call('SET', ARGV[k - 1], value, unit, time) else redis.call('SET', ARGV[k - 1], value, unit) end
    end
  end
end
return reply
