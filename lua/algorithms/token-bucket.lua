-- Token bucket: a bucket of `capacity` tokens that refills at p tokens every q microseconds.
--
-- policy   { algorithm, ask, take, p, q, full, reserve }
--          p ticks are one microsecond, q ticks one token; full = capacity x q ticks; reserve: 1 for a reservation
-- state    the instant at which the bucket is full again: whole microseconds (16 digits), then r < p ticks if r > 0
--          Once it was settled: that, ':', and a tail of three big-endian doubles, which plain charges carry along: how many ticks
--          were refunded in total, the instant until which this total counts, by how many ticks the debt was deeper than `full`
-- level    the debt: the ticks that are missing from a full bucket now
-- reply    the debt; for a reservation also how many ticks were refunded in total
local MOST = 2 ^ 53 - 1 -- the largest total: it stands for that or more
local TAIL, COLON = 25, byte(':') -- the length of a tail, and how it begins
local packTail, unpackTail = struct.pack, struct.unpack
local tails -- by the number of the key, for states that have one

local function isCount(n) return n >= 0 and n <= MOST and n == floor(n) end

local function read(raw, policy, k)
  if not raw then return 0 end
  local p, full, tail = policy[4], policy[6], nil
  local behind = #raw - TAIL
  if behind >= 16 then
    if byte(raw, behind + 1) ~= COLON then return nil end
    local refunded, keep, overdrawn = unpackTail('>ddd', raw, behind + 2)
    if not (isCount(refunded) and isCount(keep) and isCount(overdrawn)) then return nil end
    raw, full, tail = sub(raw, 1, behind), full + overdrawn, { refunded = refunded, keep = keep }
    tails = tails or {}
    tails[k] = tail
  end
  local at, rest = instant(raw, 8)
  if not at then return nil end
  local debt, forget = (at - now) * p, at
  if rest ~= '' then debt, forget = debt + rest, at + 1 end
  if tail then
    forget = max(forget, tail.keep)
    if now >= tail.keep then tail.refunded, tail.keep = 0, 0 end
  end
  if debt <= 0 then return 0, false, forget end
  -- The key names capacity and rate, so only a clock that stepped back makes the debt deeper than a full bucket.
  if debt > full + skew * p then return full, true, forget end
  return debt, false, forget
end

local function room(debt, policy)
  local ask, q, full = policy[2], policy[5], policy[6]
  return floor((full - debt) / (ask * q))
end

local function charge(debt, policy, times, rejected, reply, k)
  local take, q = policy[3], policy[5]
  reply[#reply + 1] = debt
  if policy[7] then
    local tail = tails and tails[k]
    reply[#reply + 1] = tail and tail.refunded or 0
    -- The total counts until the settlement of this reservation has nothing to refund any more.
    if times > 0 and tail and tail.refunded > 0 then tail.keep = max(tail.keep, now + ceil(policy[6] / policy[4])) end
  end
  return debt + times * take * q
end

-- Refunds the part of the cost that the bucket would still owe without it. The proof stands in token-bucket.ts.
local refund = settling and function(debt, policy, cost, settlement, k)
  local p, q = policy[4], policy[5]
  local at, resetAt, charged, before, total = settlement[1], settlement[2], settlement[3], settlement[6], settlement[7]
  tails = tails or {}
  local tail = tails[k] or { refunded = 0, keep = 0 }
  -- Without a refund marker the debt before is known from `resetAt`, which is rounded up.
  before = before or max(0, (resetAt - at) * p - (p - 1) - charged * q)
  total = total or 0
  if tail.refunded < total and tail.refunded < MOST then return nil end -- the state began anew
  local since = tail.refunded < MOST and tail.refunded - total or MOST
  local paidOff = max(0, now - at) * p - (charged - cost) * q - max(0, before - since)
  local refunded = min(debt, cost * q - max(0, paidOff))
  if refunded <= 0 then return nil end
  tail.refunded = min(MOST, tail.refunded + refunded)
  tail.keep = max(tail.keep, now + ceil(policy[6] / p))
  tails[k] = tail
  return debt - refunded, refunded
end

local rest = settling and function(debt, policy, overdraft)
  local q, full = policy[5], policy[6]
  return floor((full - debt + overdraft * q) / q)
end

local function write(debt, policy, k)
  local p, full = policy[4], policy[6]
  local whole = floor(debt / p)
  local at, rest = now + whole, debt - whole * p
  if debt > full or tails and tails[k] then
    local refunded, keep = 0, 0
    if tails and tails[k] then refunded, keep = tails[k].refunded, tails[k].keep end
    if debt > full or refunded > 0 then
      local overdrawn = max(0, debt - full)
      local tail = ':' .. packTail('>ddd', refunded, keep, overdrawn)
      return digits(at) .. (rest > 0 and plain(rest) or '') .. tail, max(rest > 0 and at + 1 or at, keep)
    end
  end
  if rest > 0 then return digits(at) .. plain(rest), at + 1 end
  return digits(at), at
end

return { read = read, room = room, charge = charge, write = write, refund = refund, rest = rest }
