-- Refunds the charges of ARGV[5], one for each key.
if ARGV[5] then
  local charged = cjson.decode(ARGV[5])
  for k = 1, #KEYS do
    local policy, level, rebased = policies[k], nil, nil
    level, rebased, forgets[k] = load(policy, k)
    -- A state that is gone holds no charge any more. In a rebased state the charge cannot be found.
    local readable = (raws[k] or foreign) and level and not rebased
    local at, resetAt = charged[k][1], charged[k][2]
    level = readable and policy[1].refund(level, policy, at, resetAt)
    owners[k], levels[k], changed[k] = policy, level, true
  end
end
