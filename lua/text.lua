-- The text of states and expiries.

-- A state is digits only: the 16 of an instant, then at most `more`. (Lua also takes 'inf', 'nan', hex and blanks for numbers.)
-- Returns the instant and the text after it.
local function instant(raw, more)
  if #raw < 16 or #raw > 16 + more or not find(raw, '^%d+$') then return nil end
  if #raw == 16 then return raw + 0, '' end
  return sub(raw, 1, 16) + 0, sub(raw, 17)
end

-- '%.0f' and numbers in redis.call take twice as long as '%d', which takes a C long and so may have 32 bits.
-- (n - n % m) / m is floor(n / m) without a call, and (n + -n % m) / m is ceil(n / m).
local function digits(n) -- always 16, for n < 10^16
  local low = n % 1e8
  return format('%08d%08d', (n - low) / 1e8, low)
end
-- The digits of an instant, then a number: one call of `format` takes half as long as two.
local function both(n, more)
  local low = n % 1e8
  return format(more < 2 ^ 31 and '%08d%08d%d' or '%08d%08d%.0f', (n - low) / 1e8, low, more)
end
local function plain(n) return n < 2 ^ 31 and format('%d', n) or format('%.0f', n) end

-- With the Redis clock a key expires at the end of the second in which its state ends. Then the next state mostly has the same
-- expiry, and KEEPTTL saves a third of a SET. An application's clock may be behind, so there the key lives a minute longer.
-- `stored` is when the state in Redis ends.
local MINUTE_MS = 60000
local lastSecond, lastText
local function expiry(at, stored)
  -- A refund can leave a state that ended long ago. Redis rejects a time to live below 1.
  if not redisClock then return 'PX', max(1, ceil((at - now) / 1000) + MINUTE_MS) end
  local second = (at + -at % 1e6) / 1e6
  if stored and second == (stored + -stored % 1e6) / 1e6 then return 'KEEPTTL' end
  if second ~= lastSecond then lastSecond, lastText = second, plain(second) end
  return 'EXAT', lastText
end
