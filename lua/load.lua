-- Reads the states of all keys, the first `declared` of which were declared, into `raws`; into `unread`, by the number of a key,
-- why it could not be read.

if #KEYS == declared then
  -- MGET answers nil for a missing key and for a foreign type; EXISTS tells them apart.
  raws = redis.call('MGET', unpack(KEYS))
  local absent
  for k = 1, #KEYS do
    if not raws[k] then
      absent = absent or {}
      absent[#absent + 1] = KEYS[k]
    end
  end
  if absent and redis.call('EXISTS', unpack(absent)) > 0 then
    unread = {}
    for k = 1, #KEYS do
      if not raws[k] and redis.call('EXISTS', KEYS[k]) > 0 then unread[k] = FOREIGN end
    end
  end
else
  -- MGET fails as a whole where keys lie in several slots.
  raws = {}
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
end
