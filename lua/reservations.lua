-- Keeps the open reservations that expire. Each call is one step on one key.
--
-- KEYS[1]  zset  the reservations by the instant at which each is due, in microseconds since 1970
--
-- ARGV[1] names the operation; the others are its own. Only the caller that removes a reservation settles it, so that it is settled
-- once. A reservation whose remover dies before it has settled stays charged.
local operation = ARGV[1]

-- ARGV[2] a reservation, ARGV[3] when it is due, ARGV[4] milliseconds after which it means nothing, ARGV[5] how many there may be.
-- Returns 1, or 0 if there are too many. The key lives as long as one of its reservations.
if operation == 'add' then
  if redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[5]) then return 0 end
  -- Before the write: a caller whose call fails, for want of a right, counts on an entry that was not written.
  local left = redis.call('PTTL', KEYS[1])
  redis.call('ZADD', KEYS[1], ARGV[3], ARGV[2])
  if left < tonumber(ARGV[4]) then redis.call('PEXPIRE', KEYS[1], ARGV[4]) end
  return 1
end

-- ARGV[2] a reservation. Returns 1 to the one caller that removes it, else 0.
if operation == 'remove' then return redis.call('ZREM', KEYS[1], ARGV[2]) end

-- 'take': ARGV[2] an instant, or 'redis' for that of TIME; ARGV[3] a count. Removes and returns reservations that are due.
local now = ARGV[2]
if now == 'redis' then
  local time = redis.call('TIME')
  now = string.format('%.0f', time[1] * 1000000 + time[2])
end
local due = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, ARGV[3])
if #due > 0 then redis.call('ZREM', KEYS[1], unpack(due)) end
return due
