-- Charges a row whose shadows and blocks are charged differently often than the others. Only batches that have some pay for it.
local chargeIndependently
if apart then
  chargeIndependently = function(first, last, admitted, count)
    local rooms = {} -- by place, how many of the row's requests fit the charge
    for i = first, last, 4 do
      local p, k = byte(charges, i, i + 1)
      local policy = policies[p % MORE]
      rooms[i] = max(0, policy[1].room(levels[k], policy))
    end
    for i = first, last, 4 do
      local p, k = byte(charges, i, i + 1)
      local policy = policies[p % MORE]
      local algorithm, take, times = policy[1], policy[3], admitted
      if algorithm.block then
        -- The charge before it rejects the requests that come after those that fit it. If more fit than came, it rejects none.
        local before = rooms[i - 4]
        times = take > 0 and rooms[i] > 0 and before <= admitted and count - before or 0
      elseif algorithm.shadow then
        times = min(admitted, rooms[i])
        -- A shadow is not charged while its block, which stands behind it, is closed.
        local behind = i < last and policies[byte(charges, i + 4) % MORE][1]
        if behind and behind.block and rooms[i + 4] == 0 then times = 0 end
      end
      levels[k] = algorithm.charge(levels[k], policy, times, times < count, reply, k)
      if times * take > 0 then changed[k] = true end
    end
  end
end
