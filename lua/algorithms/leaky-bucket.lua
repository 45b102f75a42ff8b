-- Leaky bucket: a queue of `capacity` waiting places from which p requests depart every q microseconds.
--
-- policy   { algorithm, cost, p, q, full }    p ticks are one microsecond, q ticks one departure; full = (capacity + 1) x q
-- state    the next free departure slot: whole microseconds (16 digits), then its ticks r < p, when r > 0
-- level    ticks from now to that slot: how long the next request waits
-- reply    the wait
--
-- A request of cost n takes n slots from `level` on and must find the last of them within the queue:
-- level + (n - 1) x q <= capacity x q, which is level + n x q <= (capacity + 1) x q. So the queue's arithmetic is the token
-- bucket's with one place more (the one that departs); what differs is that the caller waits.
local bucket = build(TOKEN_BUCKET)

-- Its slots, if nobody stands behind them: the next free slot is still the one after them.
function bucket.refund(debt, policy, at, resetAt)
  local isLast = debt > 0 and now + ceil(debt / policy[3]) == resetAt and policy[4] >= policy[3]
  return isLast and debt - min(debt, policy[2] * policy[4]) or nil
end

return bucket
