-- Does what algorithms/sliding-window-log.lua does with a string that stays one. A list is not plain, nor is a log that lies
-- ahead.
local limit, window = a, b
raw = raw or ''
local size, first, newest = #raw / 8, 0, 0
plain = #raw % 8 == 0
if not plain then break end
if size > 0 then
  local unpack = struct.unpack
  newest = unpack('>d', raw, #raw - 7)
  plain = newest == floor(newest) and newest >= 0 and newest <= now + skew
  if not plain then break end
  forget = newest + window
  -- Reads the entries that `upTo` in algorithms/sliding-window-log/open.lua reads.
  local edge, high, step = now - window, 0, 1
  while high < size do
    local t = unpack('>d', raw, high * 8 + 1)
    plain = plain and t == floor(t) and t >= 0 and t < 2 ^ 53
    if t > edge then break end
    first, high, step = high + 1, high + step, step * 2
  end
  if high > size then high = size end
  while first < high do
    local middle = floor((first + high) / 2)
    local t = unpack('>d', raw, middle * 8 + 1)
    plain = plain and t == floor(t) and t >= 0 and t < 2 ^ 53
    if t <= edge then first = middle + 1 else high = middle end
  end
  if not plain then break end
end
local used, stamp, n = size - first, newest > now and newest or now, 3 * k - 1
if d then stamp = now - window + d end -- a lease that is granted for less: see algorithms/concurrency.lua
local room, admitted = floor((limit - used - ask) / unit) + 1, count
if room < count and (take > 0 or room <= 0) then admitted = room > 0 and room or 0 end
local charged = admitted * take
local excess = used + charged + ask - limit
reply[n], reply[n + 1], reply[n + 2] = used, used > 0 and newest + window - now or 0, 0
if admitted < count and excess > 0 and excess <= used + charged then
  local last, t = first + excess - 1, stamp
  if last < size then t = struct.unpack('>d', raw, last * 8 + 1) end
  plain = t == floor(t) and t >= 0 and t < 2 ^ 53
  if not plain then break end
  reply[n + 2] = t + window - now
end
if charged > 0 then
  plain = used + charged <= 128 and not (d and admitted < count) -- more become a list
  if not plain then break end
  if first > 0 then raw = sub(raw, first * 8 + 1) end
  local entry, place = struct.pack('>d', stamp), #raw
  if charged > 1 then entry = string.rep(entry, charged) end
  while stamp < newest and place > 0 and struct.unpack('>d', raw, place - 7) > stamp do place = place - 8 end
  value = place == #raw and raw .. entry or sub(raw, 1, place) .. entry .. sub(raw, place + 1)
  ends = (newest > stamp and newest or stamp) + window
end
