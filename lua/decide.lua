-- Decides the rows of ARGV[4], in order. A row is a number of identical requests or, without a number, charges to settle.
local MORE = 64
local charges, at = ARGV[4], 1
local rowPolicies, rowKeys, places = {}, {}, 0 -- of the charges of the row
--- @include "apart.lua"
--- @include "settle.lua"
while at <= #charges do
  local p, k, high, low = byte(charges, at, at + 3)
  local count, policy, level, failed, lost = high * 128 + low, nil, nil, nil, nil
  local admitted = count
  places = 0
  while true do
    policy, level, places = policies[p % MORE], levels[k], places + 1
    rowPolicies[places], rowKeys[places] = policy, k
    local algorithm = policy[1]
    if level == nil then
      local wrong, forget = unread and unread[k], nil
      if not wrong then
        level, wrong, forget = algorithm.read(raws[k], policy, k)
      elseif wrong == FOREIGN and algorithm.other then
        level, wrong, forget = algorithm.other(policy, KEYS[k])
      end
      if not level then
        level, wrongs[k] = false, wrong or UNREADABLE
      elseif wrong then
        writers[k] = policy
        if count == 0 then
          lost = lost or {}
          lost[k] = true
        end
      end
      levels[k] = level
      if forget then forgets[k] = forget end
    end
    if not level then
      failed = failed or wrongs[k]
    elseif count > 0 then
      local room = algorithm.room(level, policy, k)
      -- A peek is not charged: if one of them fits, all do.
      if room < admitted and (policy[3] > 0 or room <= 0) and not algorithm.shadow then admitted = room end
    end
    at = at + 4
    if p < MORE then break end
    p, k = byte(charges, at, at + 1)
  end
  if admitted < 0 then admitted = 0 end
  if failed then
    reply[#reply + 1] = failed
    if count == 0 then skip() end
  elseif count == 0 then
    for i = 1, places do settle(rowPolicies[i], rowKeys[i], lost) end
  elseif apart then
    chargeIndependently(count)
  elseif places == 1 then
    levels[k] = policy[1].charge(level, policy, admitted, admitted < count, reply, k)
    if admitted * policy[3] > 0 then writers[k] = policy end
  else
    for i = 1, places do
      local policy, k = rowPolicies[i], rowKeys[i]
      levels[k] = policy[1].charge(levels[k], policy, admitted, admitted < count, reply, k)
      if admitted * policy[3] > 0 then writers[k] = policy end
    end
  end
end
