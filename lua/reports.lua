-- Keeps the last report of each process, for as long as the process renews it. Both keys share one Cluster slot, and each call is
-- one step.
--
-- KEYS[1]  hash  by the id of a process: its report, which is any text
-- KEYS[2]  zset  the ids by the end of their reports, in milliseconds since 1970
--
-- ARGV[1] names the operation; the others are its own, see below.

local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)

-- Answers the ids and the reports, in turn, of all reports that have not ended.
if ARGV[1] == 'all' then
  local ids = redis.call('ZRANGEBYSCORE', KEYS[2], '(' .. string.format('%.0f', now), '+inf')
  local reply = {}
  for from = 1, #ids, 1000 do
    local some = { unpack(ids, from, math.min(from + 999, #ids)) }
    for i, report in ipairs(redis.call('HMGET', KEYS[1], unpack(some))) do
      reply[#reply + 1] = some[i]
      reply[#reply + 1] = report or ''
    end
  end
  return reply
end

-- 'put': ARGV[2] an id, ARGV[3] its report, ARGV[4] milliseconds until it ends, ARGV[5] how many reports there may be. Answers
-- 'put', or 'full'.
local ended = redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', string.format('%.0f', now), 'LIMIT', 0, 500)
local id = ARGV[2]
local known = redis.call('HGET', KEYS[1], id)
if not known and redis.call('HLEN', KEYS[1]) - #ended >= tonumber(ARGV[5]) then return { 'full' } end
redis.call('HSET', KEYS[1], id, ARGV[3])
redis.call('ZADD', KEYS[2], string.format('%.0f', now + tonumber(ARGV[4])), id)
local others = {}
for _, one in ipairs(ended) do
  if one ~= id then others[#others + 1] = one end
end
if #others > 0 then
  redis.call('HDEL', KEYS[1], unpack(others))
  redis.call('ZREM', KEYS[2], unpack(others))
end
redis.call('PEXPIRE', KEYS[1], ARGV[4])
redis.call('PEXPIRE', KEYS[2], ARGV[4])
return { 'put' }
