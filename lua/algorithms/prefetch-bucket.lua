-- Prefetch bucket: a token bucket whose tokens pods prefetch. Unsettled prefetched tokens occupy the bucket: its debt is never less.
--
-- policy   { algorithm, ask, take, p, q, full, length, reserve }         as of the token bucket; length of a prefetch in microseconds
--          { algorithm, ask, take, p, q, full, length, want, generation, granted, used }      of a charge that prefetches up to
--            `want` tokens; before that it settles the prefetch of `granted` tokens of that generation, of which `used` were used
-- state    that of the token bucket; if tokens are prefetched: that, '/', the generation in which it was written, ':', the unsettled
--          tokens that were prefetched in it, ':', those of the generation before it
-- level    the debt
-- reply    the debt, the two sums as of now, and now; for a reservation also how many ticks were refunded in total
--
-- A generation is as long as a prefetch. A prefetch counts until the end of the generation after its own, and then as
-- used. A charge that prefetches always fits.
local PART, PREFETCHABLE, FEWEST = 4, 2, 2
local TAIL, COLON, SLASH = 25, byte(':'), byte('/')
local bucket = build('token-bucket')
local readBucket, chargeBucket, refundBucket, writeBucket = bucket.read, bucket.charge, bucket.refund, bucket.write
local youngs, olds = {}, {} -- by the number of the key, where tokens are prefetched

function bucket.read(raw, policy, k)
  local split = raw and find(raw, '%D', 17)
  if split and byte(raw, split) == COLON then split = split + TAIL end -- a tail may have any bytes
  if not split or split > #raw then return readBucket(raw, policy, k) end
  if byte(raw, split) ~= SLASH then return nil end
  local _, _, generation, young, old = find(raw, '^(%d+):(%d+):(%d+)$', split + 1)
  local debt, rebased, forget = readBucket(sub(raw, 1, split - 1), policy, k)
  if not debt or not generation or #generation > 16 or #young > 16 or #old > 16 then return nil end
  generation, young, old = generation + 0, young + 0, old + 0
  local p, q, length = policy[4], policy[5], policy[7]
  local passed, ended = floor(now / length) - generation, (generation + 1) * length
  forget = max(forget, ended + ceil((young + old) * q / p), young > 0 and ended + length + ceil(young * q / p) or 0)
  if passed < 0 then
    -- After the clock has stepped back, the prefetches of pods stay valid all the same.
    rebased = rebased or generation > floor((now + skew) / length)
    young, old = young + old, 0
    debt = max(debt, young * q)
  elseif passed == 0 then
    debt = max(debt, (young + old) * q)
  else
    -- While a prefetch counted, the bucket could not refill beyond it. Since then it refills from there.
    debt = max(debt, (young + old) * q - (now - ended) * p)
    if passed == 1 then
      young, old = 0, young
      debt = max(debt, old * q)
    else
      debt = max(debt, young * q - (now - ended - length) * p)
      young, old = 0, 0
    end
  end
  if young + old > 0 then youngs[k], olds[k] = young, old end
  return debt, rebased, forget
end

local roomOfBucket = bucket.room
function bucket.room(debt, policy)
  if policy[9] then return 1 end
  return roomOfBucket(debt, policy)
end

local function prefetch(debt, policy, k)
  local q, full, length = policy[5], policy[6], policy[7]
  local want, generation, granted, used = policy[8], policy[9], policy[10], policy[11]
  local young, old = youngs[k] or 0, olds[k] or 0
  if granted > 0 then
    local passed = floor(now / length) - generation
    if passed == 0 and young >= granted then
      young, debt = young - granted, debt - (granted - used) * q
    elseif passed == 1 and old >= granted then
      old, debt = old - granted, debt - (granted - used) * q
    end
  end
  local available, capacity = floor((full - debt) / q), full / q
  local part = min(want, floor(available / PART), floor(capacity / PREFETCHABLE) - young - old)
  if part < FEWEST then part = 0 end
  youngs[k], olds[k] = young + part, old
  return debt + part * q
end

function bucket.charge(debt, policy, times, rejected, reply, k)
  local n = #reply
  reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4] = debt, youngs[k] or 0, olds[k] or 0, now
  if policy[9] then return times > 0 and prefetch(debt, policy, k) or debt end
  if policy[8] then
    local plainReply = {}
    chargeBucket(debt, { 0, 0, policy[3], policy[4], policy[5], policy[6], 1 }, times, rejected, plainReply, k)
    reply[n + 5] = plainReply[2]
  end
  return debt + times * policy[3] * policy[5]
end

-- Refunds like a token bucket, above the debt of the prefetches. Without a refund marker, the debt before a charge is known, but
-- not the part of the prefetches in it.
bucket.refund = refundBucket and function(debt, policy, k, refundable, at, resetAt, cost, before, total)
  local prefetched = ((youngs[k] or 0) + (olds[k] or 0)) * policy[5]
  local after, refunded = refundBucket(debt - prefetched, policy, k, refundable, at, resetAt, cost, before or 0, total or 0)
  return after and after + prefetched, refunded
end

function bucket.write(debt, policy, k)
  local value, forget = writeBucket(debt, policy, k)
  local young, old = youngs[k] or 0, olds[k] or 0
  if young + old == 0 then return value, forget end
  local p, q, length = policy[4], policy[5], policy[7]
  local generation = floor(now / length)
  local ended = (generation + 1) * length
  forget = max(forget, ended + ceil((young + old) * q / p), young > 0 and ended + length + ceil(young * q / p) or 0)
  return value .. '/' .. plain(generation) .. ':' .. plain(young) .. ':' .. plain(old), forget
end

return bucket
