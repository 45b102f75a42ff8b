-- Asked: one request of cost 1, by Redis's clock. It needs nothing in ARGV.
local before, redisClock, skew, ask, take, times = 0, true, 0, 1, 1, 1
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
