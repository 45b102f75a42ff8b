-- Keeps the overrides of a key prefix. All keys share one Cluster slot, and each call is one step.
--
-- KEYS[1]  string  the version of the last change
-- KEYS[2]  hash    by id: the override, as '<version> <set at> <ends at> <body>'; it ends at 0 if it never does
-- KEYS[3]  zset    the ids by version
-- KEYS[4]  zset    the ids of overrides that end, by their end
-- KEYS[5]  stream  the last changes; the id of an entry is '<version>-0', its one field is 'set' or 'removed'
-- KEYS[6]  string  the version of the last notice: of what one pod tells all others. It ends a day after that
-- KEYS[7]  stream  the last notices; the id of an entry is '<version>-0'. It ends with KEYS[6]
--
-- ARGV[1] names the operation; the others are its own, see below. Each reply begins with Redis's time and the version of the
-- last change. Instants are milliseconds since 1970.
--
-- A version is the instant of its change, or one more than the last version. So versions grow even after Redis has lost its
-- data, and a version that a pod knows from before is never given again.
--
-- An override that has ended counts as none. Its record is removed by a later change.

local operation = ARGV[1]
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
-- MGET and not GET: the program of the decisions needs this right as well, so that a poll without overrides needs no other.
local versions = redis.call('MGET', KEYS[1], KEYS[6])
local version, notice = versions[1] or '0', versions[2] or '0'

local function text(number)
  return string.format('%.0f', number)
end

--- @include "notices.lua"

-- ARGV[2] the version that a pod knows, ARGV[3] that of the last notice that it has heard. Answers the notices since then, see
-- notices.lua. Behind them nothing more, or 'changes' and the changes since the known version, or 'load' if these are not known: for a
-- new pod, after more changes than are kept, and after Redis has lost some.
if operation == 'poll' then
  local known, heard = ARGV[2], ARGV[3]
  local reply = { text(now), version, unpack(notices(heard)) }
  if version == known then return reply end
  local at = #reply + 1
  reply[at] = 'load'
  if known ~= '' and #redis.call('XRANGE', KEYS[5], known .. '-0', known .. '-0') == 1 then
    reply[at] = 'changes'
    for _, entry in ipairs(redis.call('XRANGE', KEYS[5], '(' .. known .. '-0', '+', 'COUNT', 500)) do
      reply[#reply + 1] = entry[2][1]
      reply[#reply + 1] = entry[2][2]
    end
  end
  return reply
end

-- ARGV[2] a version, ARGV[3] a count: the overrides with a later version, in the order of their versions.
if operation == 'page' then
  local reply = { text(now), version }
  local ids = redis.call('ZRANGEBYSCORE', KEYS[3], '(' .. ARGV[2], '+inf', 'LIMIT', 0, ARGV[3])
  if #ids == 0 then return reply end
  for _, record in ipairs(redis.call('HMGET', KEYS[2], unpack(ids))) do reply[#reply + 1] = record or '' end
  return reply
end

-- ARGV[2] the version before which to begin, or ''; ARGV[3] a count: the changes, the last one first.
if operation == 'history' then
  local reply = { text(now), version }
  local from = ARGV[2] == '' and '+' or '(' .. ARGV[2] .. '-0'
  for _, entry in ipairs(redis.call('XREVRANGE', KEYS[5], from, '-', 'COUNT', ARGV[3])) do
    reply[#reply + 1] = entry[2][1]
    reply[#reply + 1] = entry[2][2]
  end
  return reply
end

-- ARGV[2] a notice, ARGV[3] how many are kept, ARGV[4] for how many milliseconds: tells it to all pods. Answers its version.
if operation == 'tell' then return { text(now), version, tell(ARGV[2], ARGV[3], ARGV[4]) } end

local id = ARGV[2]
local record = redis.call('HGET', KEYS[2], id)
local current, ends = '0', 0
if record then
  current, ends = string.match(record, '^(%d+) %d+ (%d+) ')
  ends = tonumber(ends)
  if ends > 0 and ends <= now then record, current = false, '0' end
end

-- ARGV[2] an id: its override, or ''.
if operation == 'get' then return { text(now), version, record or '' } end

-- 'set':    ARGV[2] an id, ARGV[3] the version that it must have, or ''; ARGV[4] the body; ARGV[5] milliseconds until it ends,
--           or ''; ARGV[6] how many overrides there may be; ARGV[7] how many changes are kept.
-- 'remove': takes the arguments of 'set'; 5 and 6 are empty. Answers 'none' if there is nothing to remove.
if ARGV[3] ~= '' and ARGV[3] ~= current then return { text(now), version, 'conflict', current } end
if operation == 'remove' and not record then return { text(now), version, 'none' } end

local expired = redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', now, 'LIMIT', 0, 500)
local function remove(ids)
  if #ids == 0 then return end
  redis.call('HDEL', KEYS[2], unpack(ids))
  redis.call('ZREM', KEYS[3], unpack(ids))
  redis.call('ZREM', KEYS[4], unpack(ids))
end
remove(expired)

local change = math.max(tonumber(version) + 1, now)
if operation == 'remove' then
  remove({ id })
  record = text(change) .. ' ' .. text(now) .. ' 0 ' .. ARGV[4]
else
  local count = redis.call('HLEN', KEYS[2])
  if not record and count >= tonumber(ARGV[6]) then return { text(now), version, 'full', text(count) } end
  ends = ARGV[5] == '' and 0 or now + tonumber(ARGV[5])
  record = text(change) .. ' ' .. text(now) .. ' ' .. text(ends) .. ' ' .. ARGV[4]
  redis.call('HSET', KEYS[2], id, record)
  redis.call('ZADD', KEYS[3], text(change), id)
  if ends > 0 then redis.call('ZADD', KEYS[4], text(ends), id) else redis.call('ZREM', KEYS[4], id) end
end
redis.call('XADD', KEYS[5], 'MAXLEN', ARGV[7], text(change) .. '-0', operation == 'set' and 'set' or 'removed', record)
redis.call('SET', KEYS[1], text(change))
return { text(now), text(change), operation, record }
