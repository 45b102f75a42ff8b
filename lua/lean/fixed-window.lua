-- Does what algorithms/fixed-window.lua does. If a calendar's window has ended or lies ahead, the state is not plain.
local limit, window, counted, rebased = a, b, 0, false
local start, edge = now - now % window, nil
if window == 0 then
  local i, last = 7, others - 1
  while i < last and ARGV[i] + 0 <= now do i = i + 1 end
  start, edge = ARGV[i - 1] + 0, ARGV[i] + 0
elseif c then
  start = now
end
if raw then
  plain = #raw > 16 and #raw <= 32 and find(raw, '^%d+$')
  if not plain then break end
  local stored = sub(raw, 1, 16) + 0
  plain = not edge or stored == start
  if not plain then break end
  if stored >= start or stored > now - window then
    counted, rebased = sub(raw, 17) + 0, stored > now + skew
    if not rebased then start = stored end
  end
  forget = edge or stored + window
end
ends = edge or start + window
local n = 2 * k
reply[n], reply[n + 1] = counted, ends - now
local charged = floor((limit - counted - ask) / unit) + 1
if charged > count then charged = count elseif charged < 0 then charged = 0 end
charged = charged * take
if rebased or charged > 0 then
  counted = counted + charged
  value = format(counted < 2 ^ 31 and '%08d%08d%d' or '%08d%08d%.0f', floor(start / 1e8), start % 1e8, counted)
end
