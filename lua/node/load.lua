-- Reads the states of all keys, one by one: MGET fails as a whole where keys lie in several slots.
local ELSEWHERE = -3
local raws, unread = {}, nil -- unread: why a key could not be read
for k = 1, #KEYS do
  local raw = redis.pcall('GET', KEYS[k])
  if type(raw) == 'table' then
    unread = unread or {}
    if find(raw.err, 'WRONGTYPE', 1, true) then
      unread[k] = FOREIGN
    elseif find(raw.err, 'non local key', 1, true) then
      unread[k] = ELSEWHERE
    else
      return { err = 'UNDECLARED ' .. raw.err }
    end
    raw = false
  end
  raws[k] = raw
end
local foreign = unread ~= nil

-- Returns as `read` of the algorithm does, or nil and FOREIGN or ELSEWHERE.
local function load(policy, k)
  local why, algorithm = unread and unread[k], policy[1]
  if not why then return algorithm.read(raws[k], policy, k) end
  if why == FOREIGN and algorithm.other then return algorithm.other(policy, KEYS[k]) end
  return nil, why
end
