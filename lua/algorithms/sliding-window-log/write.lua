-- Writes a log. A string is written by SET alone. A new list begins as SET '', so that a full Redis rejects it before the batch
-- has written anything; `finish` fills it.
local CHUNK = 1000 -- entries of an RPUSH: unpack has a limit

-- Whether the slot of a key is on its way to another node of a Cluster, which then rejects keys that do not exist here. A key
-- that vanished between two commands could not be written again. The other key has the same hash tag.
local function moves(key) return type(redis.pcall('EXISTS', key .. ':')) == 'table' end

local function write(level, _, k)
  if level.key then return nil end
  local forget = level.newest + level.window
  -- A string is read at any length, and becomes a list once its slot has moved.
  level.list = used(level) > PACKED and (level.raw == '' or not moves(KEYS[k]))
  if level.list then return '', forget end
  local kept = sub(level.raw, (level.drop or level.first) * 8 + 1, level.size * 8)
  return kept .. string.rep(struct.pack('>d', level.stamp), level.added), forget
end

local function finish(level, key)
  if not level.list and not level.key then return end
  local unit, time = expiry(level.newest + level.window)
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
  redis.call(unit == 'PX' and 'PEXPIRE' or 'EXPIREAT', key, time)
end
