-- The part of Redis that the programs in lua/ use: strings, lists, hashes, sorted sets and streams, which expire. It runs in Lua 5.1, as Redis
-- does, so the simulation runs the programs themselves. test/simulate compares it with a real Redis.
--
-- run(server, now, sha1, text, keys, args)  runs a program; `text` is nil for EVALSHA. Returns the reply as JSON, or '-' and an error
-- del(server, keys)                         returns how many there were
-- forget(server, all)                       forgets the programs, as SCRIPT FLUSH does; with `all` the data too
local floor, format, byte, char = math.floor, string.format, string.byte, string.char

local servers, compiled = {}, {}
local function serverOf(name)
  if not servers[name] then servers[name] = { data = {}, known = {} } end
  return servers[name]
end

local data, now -- of the server that runs: by key { kind, value, ends in ms }; in microseconds

local function fail(message) error({ err = message }, 0) end

local function live(key)
  local held = data[key]
  if held and held.ends and held.ends * 1000 <= now then
    data[key], held = nil, nil
  end
  return held
end

-- What a key holds; with `make` a new value where there is none.
local function open(key, kind, make)
  local held = live(key)
  if held and held.kind ~= kind then fail('WRONGTYPE Operation against a key holding the wrong kind of value') end
  if not held and make then
    held = { kind = kind, value = {} }
    data[key] = held
  end
  return held and held.value
end

local function dropIfEmpty(key)
  if data[key] and next(data[key].value) == nil then data[key] = nil end
end

local function count(set)
  local n = 0
  for _ in pairs(set) do n = n + 1 end
  return n
end

-- A bound of ZRANGEBYSCORE: the number, and whether it is outside.
local function bound(text)
  text = tostring(text)
  local outside = text:sub(1, 1) == '('
  if outside then text = text:sub(2) end
  if text == '-inf' then return -math.huge, outside end
  if text == '+inf' then return math.huge, outside end
  return tonumber(text) or fail('ERR min or max is not a float'), outside
end

local function within(score, low, high)
  local from, without = bound(low)
  local to, open = bound(high)
  return (score > from or score == from and not without) and (score < to or score == to and not open)
end

local function matching(key, low, high)
  local found, zset = {}, open(key, 'zset') or {}
  for member, score in pairs(zset) do
    if within(score, low, high) then found[#found + 1] = member end
  end
  table.sort(found, function(a, b)
    if zset[a] ~= zset[b] then return zset[a] < zset[b] end
    return a < b
  end)
  return found
end

-- The id of a stream's entry, '<number>-0', as the number.
local function streamId(text)
  if text == '-' then return -math.huge, false end
  if text == '+' then return math.huge, false end
  local outside = text:sub(1, 1) == '('
  return tonumber(text:match('%d+')), outside
end

local function entries(key, from, to)
  local low, without = streamId(from)
  local high, open_ = streamId(to)
  local found = {}
  for _, entry in ipairs(open(key, 'stream') or {}) do
    local id = streamId(entry[1])
    if (id > low or id == low and not without) and (id < high or id == high and not open_) then
      found[#found + 1] = entry
    end
  end
  return found
end

local function first(list, most)
  local some = {}
  for i = 1, math.min(#list, most) do some[i] = list[i] end
  return some
end

local function index(list, i) return i < 0 and #list + i + 1 or i + 1 end

local commands = {}

function commands.TIME()
  local seconds = floor(now / 1e6)
  return { format('%.0f', seconds), format('%.0f', now - seconds * 1e6) }
end

function commands.GET(key)
  return open(key, 'string') or false
end

function commands.MGET(...)
  local found = {}
  for i, key in ipairs({ ... }) do
    local held = live(key)
    found[i] = held and held.kind == 'string' and held.value or false
  end
  return found
end

function commands.SET(key, value, option, ends)
  local held = live(key)
  local at
  if option == 'KEEPTTL' then
    at = held and held.ends
  elseif option == 'PX' then
    at = floor(now / 1000) + tonumber(ends)
  elseif option == 'EXAT' then
    at = tonumber(ends) * 1000
  elseif option then
    fail('ERR syntax error')
  end
  data[key] = { kind = 'string', value = tostring(value), ends = at }
  live(key)
  return { ok = 'OK' }
end

function commands.EXISTS(...)
  local n = 0
  for _, key in ipairs({ ... }) do
    if live(key) then n = n + 1 end
  end
  return n
end

function commands.DEL(...)
  local n = 0
  for _, key in ipairs({ ... }) do
    if live(key) then
      n, data[key] = n + 1, nil
    end
  end
  return n
end

function commands.PEXPIRE(key, ms)
  local held = live(key)
  if not held then return 0 end
  held.ends = floor(now / 1000) + tonumber(ms)
  return 1
end

function commands.PTTL(key)
  local held = live(key)
  if not held then return -2 end
  return held.ends and held.ends - floor(now / 1000) or -1
end

function commands.LLEN(key)
  local list = open(key, 'list')
  return list and #list or 0
end

function commands.LINDEX(key, i)
  local list = open(key, 'list')
  return list and list[index(list, tonumber(i))] or false
end

function commands.RPUSH(key, ...)
  local list = open(key, 'list', true)
  for _, value in ipairs({ ... }) do list[#list + 1] = value end
  return #list
end

function commands.LTRIM(key, from, to)
  local list = open(key, 'list')
  if not list then return { ok = 'OK' } end
  local low, high = index(list, tonumber(from)), index(list, tonumber(to))
  local kept = {}
  for i = math.max(1, low), math.min(#list, high) do kept[#kept + 1] = list[i] end
  data[key].value = kept
  dropIfEmpty(key)
  return { ok = 'OK' }
end

function commands.LINSERT(key, where, pivot, value)
  local list = open(key, 'list')
  if not list then return 0 end
  for i, one in ipairs(list) do
    if one == pivot then
      table.insert(list, where == 'BEFORE' and i or i + 1, value)
      return #list
    end
  end
  return -1
end

function commands.HGET(key, field)
  local hash = open(key, 'hash')
  return hash and hash[field] or false
end

function commands.HMGET(key, ...)
  local hash, found = open(key, 'hash') or {}, {}
  for i, field in ipairs({ ... }) do found[i] = hash[field] or false end
  return found
end

function commands.HLEN(key) return count(open(key, 'hash') or {}) end

function commands.HSET(key, field, value)
  local hash = open(key, 'hash', true)
  local added = hash[field] == nil and 1 or 0
  hash[field] = tostring(value)
  return added
end

local function removeMembers(kind)
  return function(key, ...)
    local set, n = open(key, kind) or {}, 0
    for _, member in ipairs({ ... }) do
      if set[member] ~= nil then
        n, set[member] = n + 1, nil
      end
    end
    dropIfEmpty(key)
    return n
  end
end
commands.HDEL = removeMembers('hash')
commands.ZREM = removeMembers('zset')

function commands.ZADD(key, score, member)
  local zset = open(key, 'zset', true)
  local added = zset[member] == nil and 1 or 0
  zset[member] = tonumber(score)
  return added
end

function commands.ZCOUNT(key, low, high) return #matching(key, low, high) end

function commands.ZRANGEBYSCORE(key, low, high, _, from, most)
  local found = matching(key, low, high)
  if not from then return found end
  local some = {}
  for i = from + 1, math.min(#found, from + most) do some[#some + 1] = found[i] end
  return some
end

-- XADD key MAXLEN n id field value
function commands.XADD(key, _, most, id, field, value)
  local stream = open(key, 'stream', true)
  local newest = stream[#stream]
  if newest and streamId(newest[1]) >= streamId(id) then
    fail('ERR The ID specified in XADD is equal or smaller than the target stream top item')
  end
  stream[#stream + 1] = { id, { field, value } }
  while #stream > tonumber(most) do table.remove(stream, 1) end
  return id
end

function commands.XRANGE(key, from, to, _, most) return first(entries(key, from, to), tonumber(most) or math.huge) end

function commands.XREVRANGE(key, to, from, _, most)
  local found, reversed = entries(key, from, to), {}
  for i = #found, 1, -1 do reversed[#reversed + 1] = found[i] end
  return first(reversed, tonumber(most) or math.huge)
end

redis = {
  call = function(name, ...)
    local run = commands[name] or fail('ERR the simulated Redis has no ' .. name)
    return run(...)
  end,
  -- A mark of a claim is as good with the text itself.
  sha1hex = function(text) return text end,
}
function redis.pcall(...)
  local done, result = pcall(redis.call, ...)
  if done then return result end
  return type(result) == 'table' and result or { err = 'ERR ' .. tostring(result) }
end

cjson = {
  -- Of lists of numbers and texts without brackets, which is all that the programs read.
  decode = function(text) return loadstring('return ' .. text:gsub('%[', '{'):gsub('%]', '}'))() end,
}

-- A number as 8 bytes, IEEE 754, the highest byte first.
local function packed(number)
  if number == 0 then return ('\0'):rep(8) end
  local mantissa, exponent = math.frexp(math.abs(number))
  local high, rest = exponent + 1022, (mantissa * 2 - 1) * 2 ^ 52
  local bytes = {}
  for i = 8, 3, -1 do
    bytes[i] = char(rest % 256)
    rest = floor(rest / 256)
  end
  bytes[2] = char((high % 16) * 16 + rest)
  bytes[1] = char((number < 0 and 128 or 0) + floor(high / 16))
  return table.concat(bytes)
end

local function unpacked(text, at)
  if #text < at + 7 then error('data string too short') end
  local a, b = byte(text, at, at + 1)
  local rest = b % 16
  for i = at + 2, at + 7 do rest = rest * 256 + byte(text, i) end
  local high = (a % 128) * 16 + floor(b / 16)
  if high == 0 and rest == 0 then return 0 end
  local number = math.ldexp(1 + rest / 2 ^ 52, high - 1023)
  return a >= 128 and -number or number
end

-- Of the formats that the programs use: numbers ('d'), and a whole text ('c0').
struct = {
  pack = function(format, ...)
    local parts, i = {}, 0
    for kind in format:gmatch('[cd]') do
      i = i + 1
      local value = select(i, ...)
      parts[i] = kind == 'd' and packed(value + 0) or value
    end
    return table.concat(parts)
  end,
  unpack = function(format, text, at)
    local found, from = {}, at or 1
    for _ in format:gmatch('d') do
      found[#found + 1] = unpacked(text, from)
      from = from + 8
    end
    found[#found + 1] = from
    return unpack(found)
  end,
}

local function json(value)
  local kind = type(value)
  if kind == 'number' then return format('%.0f', value < 0 and math.ceil(value) or floor(value)) end
  if kind == 'string' then
    return '"' .. value:gsub('[%c"\\]', function(one) return format('\\u%04x', byte(one)) end) .. '"'
  end
  if value == true then return '1' end
  if kind ~= 'table' then return 'null' end
  if value.err then fail(value.err) end
  if value.ok then return json(value.ok) end
  local parts = {}
  for i, part in ipairs(value) do parts[i] = json(part) end
  return '[' .. table.concat(parts, ',') .. ']'
end

function run(name, instant, sha1, text, keys, args)
  local server = serverOf(name)
  data, now = server.data, instant
  if text then
    compiled[sha1] = compiled[sha1] or assert(loadstring(text))
    server.known[sha1] = true
  elseif not server.known[sha1] then
    return '-NOSCRIPT No matching script. Please use EVAL.'
  end
  KEYS, ARGV = keys, args
  local done, reply = pcall(function() return json(compiled[sha1]()) end)
  if done then return reply end
  return '-' .. (type(reply) == 'table' and reply.err or 'ERR ' .. tostring(reply))
end

function del(name, instant, keys)
  data, now = serverOf(name).data, instant
  return tostring(commands.DEL(unpack(keys)))
end

function forget(name, all)
  local server = serverOf(name)
  server.known = {}
  if all then server.data = {} end
end
