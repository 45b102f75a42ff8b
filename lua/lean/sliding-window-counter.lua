-- Does what algorithms/sliding-window-counter.lua does.
local limit, window = a, b
local start, current, previous, rebased = now - now % window, 0, 0, false
if raw then
  plain = #raw > 32 and #raw <= 48 and find(raw, '^%d+$')
  if not plain then break end
  local stored = sub(raw, 1, 16) + 0
  if stored >= start then
    current, previous, rebased = sub(raw, 17, 32) + 0, sub(raw, 33) + 0, stored > now + skew
    if not rebased then start = stored end
  elseif stored == start - window then
    previous = sub(raw, 17, 32) + 0
  end
  forget = stored + 2 * window
end
local left, n = start + window - now, 3 * k - 1
reply[n], reply[n + 1], reply[n + 2] = current, previous, left
local used = current + (left < window and ceil(previous * left / window) or previous)
local charged = floor((limit - used - ask) / unit) + 1
if charged > count then charged = count elseif charged < 0 then charged = 0 end
charged = charged * take
if rebased or charged > 0 then
  current, ends = current + charged, start + 2 * window
  local form = current < 2 ^ 31 and previous < 2 ^ 31 and '%08d%08d%016d%d' or '%08d%08d%016.0f%.0f'
  value = format(form, floor(start / 1e8), start % 1e8, current, previous)
end
