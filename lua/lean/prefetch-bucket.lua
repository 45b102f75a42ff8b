-- Does what algorithms/prefetch-bucket.lua does. A settled state is not plain, nor is one that lies ahead.
local p, q, full, length = a, b, c, ARGV[7] + 0
local generation, debt, rebased, young, old = floor(now / length), 0, false, 0, 0
if raw then
  local state, since = raw, nil
  if find(raw, '/', 1, true) then
    local _, y, o
    _, _, state, since, y, o = find(raw, '^(%d+)/(%d+):(%d+):(%d+)$')
    plain = state and #since <= 16 and #y <= 16 and #o <= 16
    if not plain then break end
    since, young, old = since + 0, y + 0, o + 0
  end
  plain = #state >= 16 and #state <= 24 and find(state, '^%d+$') and (not since or since <= generation)
  if not plain then break end
  if #state == 16 then
    forget = state + 0
    debt = (forget - now) * p
  else
    forget = sub(state, 1, 16) + 1
    debt = (forget - 1 - now) * p + sub(state, 17)
  end
  if debt < 0 then debt = 0 elseif debt > full + skew * p then debt, rebased = full, true end
  if since then
    local passed, ended = generation - since, (since + 1) * length
    forget = max(forget, ended + ceil((young + old) * q / p), young > 0 and ended + length + ceil(young * q / p) or 0)
    if passed == 0 then
      debt = max(debt, (young + old) * q)
    else
      debt = max(debt, (young + old) * q - (now - ended) * p)
      if passed == 1 then
        young, old = 0, young
        debt = max(debt, old * q)
      else
        debt = max(debt, young * q - (now - ended - length) * p)
        young, old = 0, 0
      end
    end
  end
end
local n = 4 * k - 2
reply[n], reply[n + 1], reply[n + 2], reply[n + 3] = debt, young, old, now
local prefetches, charged = others > 9, nil
if prefetches then
  plain = take > 0
  if not plain then break end
  charged = 1
  local granted, used, passed = ARGV[10] + 0, ARGV[11] + 0, generation - ARGV[9]
  if granted > 0 then
    if passed == 0 and young >= granted then
      young, debt = young - granted, debt - (granted - used) * q
    elseif passed == 1 and old >= granted then
      old, debt = old - granted, debt - (granted - used) * q
    end
  end
  -- The bounds are PART, PREFETCHABLE and FEWEST of algorithms/prefetch-bucket.lua.
  local part = min(ARGV[8] + 0, floor(floor((full - debt) / q) / 4), floor(full / q / 2) - young - old)
  if part < 2 then part = 0 end
  young, debt = young + part, debt + part * q
else
  charged = floor((full - debt - ask * q) / (unit * q)) + 1
  if charged > count then charged = count elseif charged < 0 then charged = 0 end
  charged = charged * take
  debt = debt + charged * q
end
if rebased or charged > 0 then
  plain = debt <= full
  if not plain then break end
  local whole = floor(debt / p)
  local rest = debt - whole * p
  ends = now + whole
  value = format('%08d%08d', floor(ends / 1e8), ends % 1e8)
  if rest > 0 then value, ends = value .. format(rest < 2 ^ 31 and '%d' or '%.0f', rest), ends + 1 end
  if young + old > 0 then
    local ended = (generation + 1) * length
    ends = max(ends, ended + ceil((young + old) * q / p), young > 0 and ended + length + ceil(young * q / p) or 0)
    value = value .. format('/%.0f:%.0f:%.0f', generation, young, old)
  end
end
