-- Leaky bucket: a queue of `capacity` waiting places from which p requests depart every q microseconds.
--
-- policy   { algorithm, ask, take, p, q, full }
--          p ticks are one microsecond, q ticks one departure; full = (capacity + 1) x q ticks
-- state    the next free departure slot: whole microseconds (16 digits), then r < p ticks if r > 0
-- level    the wait: the ticks from now to that slot
-- reply    the wait
--
-- A request of cost n takes n slots from `level` on. The last of them must lie within the queue: level + (n - 1) x q <=
-- capacity x q, which is level + n x q <= (capacity + 1) x q. So the queue has the arithmetic of a token bucket with one place
-- more, for the request that departs. Only the caller differs: it waits.
local bucket = build('token-bucket')

-- Refunds the last slots of the charge only if they are the last ones of all: the queue still ends right after them.
function bucket.refund(wait, policy, _, refundable, _, resetAt)
  local p, q = policy[4], policy[5]
  if wait == 0 or q < p or now + ceil(wait / p) ~= resetAt then return nil end
  local refunded = min(wait, refundable * q)
  return wait - refunded, refunded
end

return bucket
