-- Does what algorithms/token-bucket.lua does. A settled state has a tail, and so it is not plain.
local p, q, full, debt, rebased = a, b, c, 0, false
if raw then
  plain = #raw >= 16 and #raw <= 24 and find(raw, '^%d+$')
  if not plain then break end
  if #raw == 16 then
    forget = raw + 0
    debt = (forget - now) * p
  else
    forget = sub(raw, 1, 16) + 1
    debt = (forget - 1 - now) * p + sub(raw, 17)
  end
  if debt < 0 then debt = 0 elseif debt > full + skew * p then debt, rebased = full, true end
end
reply[k + 1] = debt
local charged = floor((full - debt - ask * q) / (unit * q)) + 1
if charged > count then charged = count elseif charged < 0 then charged = 0 end
charged = charged * take
if rebased or charged > 0 then
  debt = debt + charged * q
  local whole = floor(debt / p)
  local rest = debt - whole * p
  ends = now + whole
  value = format('%08d%08d', floor(ends / 1e8), ends % 1e8)
  if rest > 0 then value, ends = value .. format(rest < 2 ^ 31 and '%d' or '%.0f', rest), ends + 1 end
end
