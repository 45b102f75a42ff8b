-- Writes a log. A string is written by SET alone. A new list begins as SET '', so that a full Redis rejects it before the batch
-- has written anything; `finish` fills it.
local CHUNK = 1000 -- entries of an RPUSH: unpack has a limit

-- Whether the slot of a key is on its way to another node of a Cluster, which then rejects keys that do not exist here. A key
-- that vanished between two commands could not be written again. The other key has the same hash tag.
local function moves(key) return type(redis.pcall('EXISTS', key .. ':')) == 'table' end

local function write(level, policy, k)
  if level.key then return nil, nil, true end
  local raw, first, added, forget = level.raw, level.drop or level.first, level.added, level.newest + policy[5]
  -- A string is read at any length, and becomes a list once its slot has moved.
  if used(level) > PACKED and (raw == '' or not moves(KEYS[k])) then return '', forget, true end
  if first > 0 or level.size * 8 < #raw then raw = sub(raw, first * 8 + 1, level.size * 8) end
  if added == 0 then return raw, forget end
  local entry = struct.pack('>d', level.stamp)
  return raw .. (added == 1 and entry or string.rep(entry, added)), forget
end

local function finish(level, policy, key)
  local unit, time = expiry(level.newest + policy[5])
  local pending, size, drop = {}, 0, level.drop or level.first
  local function push(t)
    size = size + 1
    pending[size] = digits(t)
    if size == CHUNK then
      redis.call('RPUSH', key, unpack(pending))
      pending, size = {}, 0
    end
  end
  if level.raw then
    redis.call('DEL', key)
    for i = drop, level.size - 1 do push(at(level, i)) end
  else
    if level.cut > 0 then redis.call('LTRIM', key, 0, -level.cut - 1) end -- counts from the new end: -1 would keep all entries
    local gaps = level.gaps
    if gaps then -- few entries came after those that were refunded
      local keep, later = level.size, {}
      for g = 1, #gaps do keep = min(keep, gaps[g][1]) end
      for i = keep, level.size - 1 do later[#later + 1] = at(level, i) end
      redis.call('LTRIM', key, 0, keep - 1) -- at least 1 stays: a gap at the old end is none, but dropped
      for i = 1, #later do push(later[i]) end
    end
  end
  for _ = 1, level.added do push(level.stamp) end
  if size > 0 then redis.call('RPUSH', key, unpack(pending)) end
  if level.key and drop > 0 then redis.call('LTRIM', key, drop, -1) end
  if level.granted > 0 then
    local list = { key = key, size = redis.call('LLEN', key) }
    local place, entry = upTo(list, level.given), digits(level.given)
    local pivot = place < list.size and redis.call('LINDEX', key, place)
    for _ = 1, level.granted do
      if pivot then redis.call('LINSERT', key, 'BEFORE', pivot, entry) else redis.call('RPUSH', key, entry) end
    end
  end
  redis.call(unit == 'PX' and 'PEXPIRE' or 'EXPIREAT', key, time)
end
