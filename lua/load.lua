-- Reads the states of all keys. MGET answers nil for a missing key and for a foreign type; EXISTS tells them apart.
local raws, absent = redis.call('MGET', unpack(KEYS)), nil
for k = 1, #KEYS do
  if not raws[k] then
    absent = absent or {}
    absent[#absent + 1] = KEYS[k]
  end
end
local foreign = absent and redis.call('EXISTS', unpack(absent)) > 0

-- Returns as `read` of the algorithm does, or nil and FOREIGN.
local function load(policy, k)
  local raw, algorithm = raws[k], policy[1]
  if raw or not foreign or redis.call('EXISTS', KEYS[k]) == 0 then return algorithm.read(raw, policy, k) end
  if algorithm.other then return algorithm.other(policy, KEYS[k]) end
  return nil, FOREIGN
end
