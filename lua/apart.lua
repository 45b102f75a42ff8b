-- Charges a row with shadows, blocks or alternatives: these may be charged a different number of times than its other charges. Only
-- batches that have some pay for it.
--
-- An alternative takes the requests that fit none of the charges before it, back to the first one that is no alternative. At the
-- beginning of a row it is a charge like any other.
local chargeIndependently
if apart then
  chargeIndependently = function(count)
    local rooms = {} -- how many of the row's requests fit each charge
    local firsts, totals = {}, {} -- by charge: the first one of its alternatives; by that one: how many requests fit one of them
    for i = 1, places do
      local policy, k = rowPolicies[i], rowKeys[i]
      local room = max(0, policy[1].room(levels[k], policy, k))
      -- A peek is not charged: if one of them fits, all do.
      rooms[i] = policy[3] == 0 and room > 0 and math.huge or room
      -- Nothing fits a charge whose block, which follows it, is closed.
      if room == 0 and policy[1].block then rooms[i - 1] = 0 end
    end
    local first
    for i = 1, places do
      local algorithm = rowPolicies[i][1]
      if algorithm.instead and first then
        totals[first] = totals[first] + rooms[i]
      elseif not algorithm.block then
        first, totals[i] = i, rooms[i]
      end
      firsts[i] = first
    end
    local admitted = count
    for i, total in pairs(totals) do
      if not rowPolicies[i][1].shadow then admitted = min(admitted, total) end
    end
    local left -- the admitted requests that no alternative has taken so far
    for i = 1, places do
      local policy, k, times = rowPolicies[i], rowKeys[i], nil
      local algorithm, take = policy[1], policy[3]
      if firsts[i] == i then left = admitted end
      if algorithm.block then
        -- The charges before it reject the requests beyond those that fit. If all of them fit, they reject none.
        local total = totals[firsts[i]]
        times = take > 0 and rooms[i] > 0 and total <= admitted and count - total or 0
      else
        times = min(left, rooms[i])
        left = left - times
      end
      levels[k] = algorithm.charge(levels[k], policy, times, times < count, reply, k)
      if times * take > 0 then writers[k] = policy end
    end
  end
end
