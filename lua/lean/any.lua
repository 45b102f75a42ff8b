-- Asked: 'now skew ask take times' in ARGV[1]: now and skew as ARGV[1] and ARGV[2] of program.lua, ask and take as of its
-- policies, times: the number of requests.
local before = 1
local _, _, now, skew, ask, take, times = find(ARGV[1], '^(%S+) (%S+) (%S+) (%S+) (%S+)$')
now, skew, ask, take, times = tonumber(now), skew + 0, ask + 0, take + 0, times + 0
local redisClock = not now
if redisClock then
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end
