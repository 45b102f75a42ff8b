-- Writes the changed states. SET comes first: Redis checks its memory only at the first write of a script, so a batch is
-- written whole or not at all.
local set, finishing = redis.call, nil
for k = 1, #KEYS do
  local policy = writers[k]
  if policy then
    local algorithm = policy[1]
    local value, forget, unfinished = algorithm.write(levels[k], policy, k)
    if value then set('SET', KEYS[k], value, expiry(forget, forgets[k])) end
    if unfinished then
      finishing = finishing or {}
      finishing[#finishing + 1] = k
    end
  end
end
for i = 1, finishing and #finishing or 0 do
  local k = finishing[i]
  writers[k][1].finish(levels[k], writers[k], KEYS[k])
end
