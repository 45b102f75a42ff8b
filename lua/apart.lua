-- Charges a row with shadows or blocks: these may be charged a different number of times than its other charges. Only batches
-- that have some pay for it.
local chargeIndependently
if apart then
  chargeIndependently = function(admitted, count)
    local rooms = {} -- how many of the row's requests fit each charge
    for i = 1, places do
      local policy, k = rowPolicies[i], rowKeys[i]
      rooms[i] = max(0, policy[1].room(levels[k], policy, k))
    end
    for i = 1, places do
      local policy, k = rowPolicies[i], rowKeys[i]
      local algorithm, take, times = policy[1], policy[3], admitted
      if algorithm.block then
        -- The charge before it rejects the requests beyond those that fit it. If all of them fit, it rejects none.
        local before = rooms[i - 1]
        times = take > 0 and rooms[i] > 0 and before <= admitted and count - before or 0
      elseif algorithm.shadow then
        times = min(admitted, rooms[i])
        -- A shadow is not charged while its block, which follows it, is closed.
        if i < places and rowPolicies[i + 1][1].block and rooms[i + 1] == 0 then times = 0 end
      end
      levels[k] = algorithm.charge(levels[k], policy, times, times < count, reply, k)
      if times * take > 0 then writers[k] = policy end
    end
  end
end
