-- Token bucket: a bucket of `capacity` tokens that refills at p tokens every q microseconds.
--
-- policy   { algorithm, cost, p, q, full }    p ticks are one microsecond, q ticks one token; full = capacity x q ticks
-- state    the instant at which the bucket is full again: whole microseconds (16 digits), then its ticks r < p, when r > 0
-- level    the debt: ticks that are missing from a full bucket now
-- reply    the debt
local function read(raw, policy)
  if not raw then return 0 end
  local at, rest = instant(raw, 8)
  if not at then return nil end
  local debt, forget = (at - now) * policy[3], at
  if rest ~= '' then debt, forget = debt + rest, at + 1 end
  if debt <= 0 then return 0, false, forget end
  -- Deeper than empty: only a clock that stepped back (or a capacity that shrank) puts the instant there.
  if debt > policy[5] + skew * policy[3] then return policy[5], true, forget end
  return debt, false, forget
end

local function room(debt, policy, cost)
  return floor((policy[5] - debt) / (cost * policy[4]))
end

local function charge(debt, policy, times, refused, reply)
  reply[#reply + 1] = debt
  return debt + times * policy[2] * policy[4]
end

-- What the charge still is of the debt: the refill pays it off from its instant on.
local refund = ARGV[5] and function(debt, policy, at)
  local back = policy[2] * policy[4] - max(0, now - at) * policy[3]
  return back > 0 and debt > 0 and debt - min(back, debt) or nil
end

local function write(debt, policy)
  local whole = floor(debt / policy[3])
  local at, rest = now + whole, debt - whole * policy[3]
  if rest > 0 then return digits(at) .. plain(rest), at + 1 end
  return digits(at), at
end

return { read = read, room = room, charge = charge, write = write, refund = refund }
