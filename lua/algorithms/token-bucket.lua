-- Token bucket: a bucket of `capacity` tokens that refills at p tokens every q microseconds.
--
-- policy   { algorithm, ask, take, p, q, full, reserve }
--          p ticks are one microsecond, q ticks one token; full = capacity x q ticks; reserve: 1 for a reservation
-- state    the instant at which the bucket is full again: whole microseconds (16 digits), then r < p ticks if r > 0
--          Once it was settled: that, ':', and a tail of three big-endian doubles, which plain charges carry along: how many ticks
--          were refunded in total, the instant until which this total counts, by how many ticks the debt was deeper than `full`
-- level    the debt: the ticks that are missing from a full bucket now; beside it, of a settled state, the total and its instant
-- reply    the debt; for a reservation also how many ticks were refunded in total
local MOST = 2 ^ 53 - 64 -- the largest total: it stands for that or more. Clients read all numbers up to here exactly
local TAIL, COLON = 25, byte(':') -- the length of a tail, and how it begins
local pack, unpack = struct.pack, struct.unpack
local totals, keeps = {}, {}

local function isCount(n) return n >= 0 and n < 2 ^ 53 and n % 1 == 0 end

local function read(raw, policy, k)
  if not raw then return 0 end
  local _, last = find(raw, '^%d+')
  if not last or last < 16 or last > 24 then return nil end
  local p, full, keep, at, debt = policy[4], policy[6], 0, nil, nil
  if last < #raw then
    if #raw ~= last + TAIL or byte(raw, last + 1) ~= COLON then return nil end
    local total, overdrawn
    total, keep, overdrawn = unpack('>ddd', raw, last + 2)
    if not (isCount(total) and isCount(keep) and isCount(overdrawn)) then return nil end
    full = full + overdrawn
    if now < keep then totals[k], keeps[k] = min(MOST, total), keep end
  end
  if #raw == 16 then at = raw + 0 else at = sub(raw, 1, 16) + 0 end
  debt = (at - now) * p
  if last > 16 then debt, at = debt + sub(raw, 17, last), at + 1 end
  if keep > at then at = keep end
  if debt <= 0 then return 0, false, at end
  -- The key names capacity and rate, so only a clock that stepped back makes the debt deeper than a full bucket.
  if debt > full + skew * p then return full, true, at end
  return debt, false, at
end

local function room(debt, policy)
  local ask, take, q = policy[2], policy[3], policy[5]
  local unit, spare = (take > 0 and take or ask) * q, policy[6] - debt - ask * q
  return (spare - spare % unit) / unit + 1
end

local function charge(debt, policy, times, rejected, reply, k)
  local n = #reply + 1
  reply[n] = debt
  if policy[7] then
    local total = totals[k] or 0
    reply[n + 1] = total
    -- The total counts until the settlement of this reservation has nothing to refund any more.
    if times * policy[3] > 0 and total > 0 then keeps[k] = max(keeps[k], now + ceil(policy[6] / policy[4])) end
  end
  return debt + times * policy[3] * policy[5]
end

-- Refunds the part of the cost that the bucket would still owe without it. The proof stands in token-bucket.ts.
local refund = settling and function(debt, policy, k, refundable, at, resetAt, cost, before, total)
  local p, q, all = policy[4], policy[5], totals[k] or 0
  if not before then
    -- Without a refund marker the debt before is known from `resetAt`, which is rounded up.
    before, total = max(0, (resetAt - at) * p - (p - 1) - cost * q), 0
  end
  if all < total and all < MOST then return nil end -- the state began anew
  local since = all < MOST and all - total or MOST
  local paidOff = max(0, now - at) * p - (cost - refundable) * q - max(0, before - since)
  local refunded = min(debt, refundable * q - max(0, paidOff))
  if refunded <= 0 then return nil end
  totals[k], keeps[k] = min(MOST, all + refunded), max(keeps[k] or 0, now + ceil(policy[6] / p))
  return debt - refunded, refunded
end

local rest = settling and function(debt, policy, overdraft)
  local q, full = policy[5], policy[6]
  return floor((full - debt + overdraft * q) / q)
end

local function write(debt, policy, k)
  local p, full, total = policy[4], policy[6], totals[k] or 0
  local rest = debt % p
  local at = now + (debt - rest) / p
  local forget = rest > 0 and at + 1 or at
  if total == 0 and debt <= full then
    return rest > 0 and both(at, rest) or digits(at), forget
  end
  local text, keep = format('%08d%08d:', floor(at / 1e8), at % 1e8), keeps[k] or 0
  if rest > 0 then text = both(at, rest) .. ':' end
  return pack('>c0ddd', text, total, keep, max(0, debt - full)), max(forget, keep)
end

return { read = read, room = room, charge = charge, write = write, refund = refund, rest = rest }
