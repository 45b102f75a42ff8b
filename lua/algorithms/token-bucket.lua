-- Token bucket: a bucket of `capacity` tokens that refills at p tokens every q microseconds.
--
-- policy   { algorithm, ask, take, p, q, full }
--          p ticks are one microsecond, q ticks one token; full = capacity x q ticks
-- state    the instant at which the bucket is full again: whole microseconds (16 digits), then r < p ticks if r > 0
-- level    the debt: the ticks that are missing from a full bucket now
-- reply    the debt
local function read(raw, policy)
  if not raw then return 0 end
  local at, rest = instant(raw, 8)
  if not at then return nil end
  local p, full = policy[4], policy[6]
  local debt, forget = (at - now) * p, at
  if rest ~= '' then debt, forget = debt + rest, at + 1 end
  if debt <= 0 then return 0, false, forget end
  -- The key names capacity and rate, so only a clock that stepped back makes the debt deeper than a full bucket.
  if debt > full + skew * p then return full, true, forget end
  return debt, false, forget
end

local function room(debt, policy)
  local ask, q, full = policy[2], policy[5], policy[6]
  return floor((full - debt) / (ask * q))
end

local function charge(debt, policy, times, rejected, reply)
  local take, q = policy[3], policy[5]
  reply[#reply + 1] = debt
  return debt + times * take * q
end

-- The refill has paid off a part of the charge since `at`. Only the rest is refunded.
local refund = ARGV[5] and function(debt, policy, at)
  local take, p, q = policy[3], policy[4], policy[5]
  local rest = take * q - max(0, now - at) * p
  return rest > 0 and debt > 0 and debt - min(rest, debt) or nil
end

local function write(debt, policy)
  local p = policy[4]
  local whole = floor(debt / p)
  local at, rest = now + whole, debt - whole * p
  if rest > 0 then return digits(at) .. plain(rest), at + 1 end
  return digits(at), at
end

return { read = read, room = room, charge = charge, write = write, refund = refund }
