-- Settles charges that were made before. The states of their row are loaded.
local settle, skip
if settling then
  local numbers, i = cjson.decode(settling), 1
  local MARKER = 6 -- the place of how many numbers the refund marker has, which follow

  -- Leaves out the charges of a row that failed.
  function skip()
    for _ = 1, places do i = i + MARKER + numbers[i + MARKER - 1] end
  end

  -- Settles one charge. `lost` has the keys that were rebased for the row, in whose states the charge cannot be found.
  function settle(policy, k, lost)
    local at, resetAt, cost, final, overdraft, marker =
      numbers[i], numbers[i + 1], numbers[i + 2], numbers[i + 3], numbers[i + 4], numbers[i + 5]
    local before, total
    if marker > 0 then before, total = numbers[i + MARKER], numbers[i + MARKER + 1] end
    i = i + MARKER + marker
    local algorithm, level, more, isLost = policy[1], levels[k], final - cost, lost and lost[k]
    local after, refunded, charged = nil, 0, 0
    if more < 0 then
      -- A state that is gone holds no charge any more.
      if not isLost and (writers[k] or raws[k] or unread and unread[k]) then
        after, refunded = algorithm.refund(level, policy, k, -more, at, resetAt, cost, before, total)
      end
    elseif more > 0 then
      charged = algorithm.rest and max(0, min(more, algorithm.rest(level, policy, overdraft, k))) or 0
      if charged > 0 or isLost then after = algorithm.charge(level, policy, charged, false, {}, k) end
    end
    if after then
      levels[k], writers[k] = after, policy
    elseif isLost then
      levels[k], writers[k] = nil, nil -- it stays as it was, and a later row reads it again
    end
    local n = #reply
    reply[n + 1], reply[n + 2] = after and refunded or 0, charged
  end
end
