-- Keeps the open reservations that expire. Each call is one step on one key.
--
-- KEYS[1]  zset  the reservations by the instant at which each is due, in microseconds since 1970; and a mark of each claim, by the
--                negative instant at which it was made
--
-- ARGV[1] names the operation; the others are its own. Only the caller that has claimed a reservation settles it, so that it is settled
-- once. The mark lets a caller ask again whose answer was lost. A reservation whose claimant dies before it has settled stays charged.
local operation = ARGV[1]

-- ARGV[2] a reservation, ARGV[3] when it is due, ARGV[4] milliseconds after which it means nothing, ARGV[5] how many there may be.
-- Returns 1, or 0 if there are too many. The key lives as long as one of its reservations.
if operation == 'add' then
  if redis.call('ZCOUNT', KEYS[1], 0, '+inf') >= tonumber(ARGV[5]) then return 0 end
  -- Before the write: a caller whose call fails, for want of a right, counts on an entry that was not written.
  local left = redis.call('PTTL', KEYS[1])
  redis.call('ZADD', KEYS[1], ARGV[3], ARGV[2])
  if left < tonumber(ARGV[4]) then redis.call('PEXPIRE', KEYS[1], ARGV[4]) end
  return 1
end

-- ARGV[2] of the others is an instant, or 'redis' for that of TIME.
local now = tonumber(ARGV[2])
if now == nil then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end

-- ARGV[3] names the claim, ARGV[4] milliseconds for which its mark is kept, ARGV[5] when the reservations are due, and then reservations.
-- Returns 1 for each that this claim has, also if it is asked again, 2 for each that is not there and that no process but its own may
-- have claimed yet, and 0 for each that another claim has.
if operation == 'claim' then
  local claimed = {}
  local keep = ARGV[4] * 1000
  local at = string.format('%.0f', -now)
  -- A claim that is made so long before the reservation is due needs no mark: whoever asks again gets a 2.
  local marks = now + keep >= tonumber(ARGV[5])
  for i = 6, #ARGV do
    local mark = ARGV[3] .. redis.sha1hex(ARGV[i])
    -- A full Redis refuses no ZREM, and no write after it.
    local has = redis.call('ZREM', KEYS[1], ARGV[i]) == 1
    if marks then
      has = redis.call('ZREM', KEYS[1], mark) == 1 or has
      if has then redis.call('ZADD', KEYS[1], at, mark) end
    end
    claimed[i - 5] = has and 1 or now < tonumber(ARGV[5]) and 2 or 0
  end
  if not marks then return claimed end
  -- The key may be a new one, of marks alone.
  if redis.call('PTTL', KEYS[1]) < tonumber(ARGV[4]) then redis.call('PEXPIRE', KEYS[1], ARGV[4]) end
  local ended = redis.call('ZRANGEBYSCORE', KEYS[1], string.format('%.0f', keep - now), '(0', 'LIMIT', 0, 100)
  if #ended > 0 then redis.call('ZREM', KEYS[1], unpack(ended)) end
  return claimed
end

-- 'due': ARGV[3] a count. Returns reservations that are due, and changes nothing.
return redis.call('ZRANGEBYSCORE', KEYS[1], 0, string.format('%.0f', now), 'LIMIT', 0, ARGV[3])
