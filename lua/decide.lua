-- Decides the rows of ARGV[4], in order. A row is a number of identical requests, or without a number the charges that are settled.
local MORE = 64
local charges, at = ARGV[4], 1
--- @include "apart.lua"
--- @include "settle.lua"
while at <= #charges do
  local first, failed, lost = at, nil, nil
  local p, k, high, low = byte(charges, at, at + 3)
  local count = high * 128 + low
  local admitted = count
  while true do
    local policy, level = policies[p % MORE], levels[k]
    if level == nil then
      local wrong
      level, wrong, forgets[k] = load(policy, k)
      if not level then level, wrong = false, wrong or UNREADABLE end
      owners[k], levels[k], changed[k] = policy, level, wrong -- without a level `changed` says what is wrong
      if level and wrong and count == 0 then
        lost = lost or {}
        lost[k] = true
      end
    end
    if count == 0 then
      failed = failed or not level and changed[k]
    elseif level then
      local algorithm, take = policy[1], policy[3]
      local room = algorithm.room(level, policy)
      -- A peek is not charged: if one of them fits, all do.
      if room < admitted and (take > 0 or room <= 0) and not algorithm.shadow then admitted = room end
    else
      failed = failed or changed[k]
    end
    at = at + 4
    if p < MORE then break end
    p, k = byte(charges, at, at + 1)
  end
  if failed then
    reply[#reply + 1] = failed
    if count == 0 then settled = settled + (at - first) / 4 end
  elseif count == 0 then
    settle(first, at - 4, lost)
  else
    if admitted < 0 then admitted = 0 end
    if apart then
      chargeIndependently(first, at - 4, admitted, count)
    else
      for i = first, at - 4, 4 do
        local p, k = byte(charges, i, i + 1)
        local policy = policies[p % MORE]
        local algorithm, take = policy[1], policy[3]
        levels[k] = algorithm.charge(levels[k], policy, admitted, admitted < count, reply, k)
        if admitted * take > 0 then changed[k] = true end
      end
    end
  end
end
