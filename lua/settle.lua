-- Settles the charges of ARGV[5], one for each key: all of them or, if a state is unreadable, none.
if settling then
  local settlements = cjson.decode(settling)
  for k = 1, #KEYS do
    local policy, settlement, refunded, charged = policies[k], settlements[k], 0, 0
    local algorithm, more = policy[1], settlement[4] - settlement[3]
    local level, rebased, forget = load(policy, k)
    if not level then
      reply = { now, rebased or UNREADABLE }
      owners, levels, changed = {}, {}, {}
      break
    end
    local after
    if more < 0 then
      -- A state that is gone holds no charge any more. In a rebased state the charge cannot be found.
      if (raws[k] or unread and unread[k]) and not rebased then after, refunded = algorithm.refund(level, policy, -more, settlement, k) end
    elseif more > 0 then
      charged = algorithm.rest and max(0, min(more, algorithm.rest(level, policy, settlement[5]))) or 0
      policy[3] = charged
      if charged > 0 or rebased then after = algorithm.charge(level, policy, 1, false, {}, k) end
    end
    owners[k], levels[k], changed[k], forgets[k] = policy, after or false, true, forget
    reply[#reply + 1], reply[#reply + 2] = after and refunded or 0, charged
  end
end
