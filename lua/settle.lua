-- Settles a row of charges that were made before: a charge's key and policy stand in ARGV[4], its numbers in ARGV[5]. The states of the
-- row are loaded. `lost` has the keys that were rebased for it, in whose states the charge cannot be found.
local settlements, settled = settling and cjson.decode(settling), 0
local settle = settling and function(first, last, lost)
  for i = first, last, 4 do
    local p, k = byte(charges, i, i + 1)
    settled = settled + 1
    local policy, level, settlement, n = policies[p % MORE], levels[k], settlements[settled], #reply
    local algorithm, more, isLost = policy[1], settlement[4] - settlement[3], lost and lost[k]
    local after, refunded, charged = nil, 0, 0
    if more < 0 then
      -- A state that is gone holds no charge any more.
      if not isLost and (changed[k] or raws[k] or unread and unread[k]) then
        after, refunded = algorithm.refund(level, policy, -more, settlement, k)
      end
    elseif more > 0 then
      charged = algorithm.rest and max(0, min(more, algorithm.rest(level, policy, settlement[5]))) or 0
      if charged > 0 or isLost then after = algorithm.charge(level, policy, charged, false, {}, k) end
    end
    if after then
      levels[k], changed[k] = after, true
    elseif isLost then
      levels[k] = nil -- it stays as it was, and a later row reads it again
    end
    reply[n + 1], reply[n + 2] = after and refunded or 0, charged
  end
end
