-- Notices: what one pod tells all others, which hear it as they ask for the changes of overrides. Needs `text`, `now`, `notice`
-- (the version of the last one), KEYS[6] and KEYS[7].

-- The version of the last notice that a pod hears now, how many notices follow, and these: -1 if some since `heard` are not kept any
-- more. A pod that has heard '0' knows that none was kept.
local function notices(heard)
  if notice == heard or notice == '0' then return { notice, '0' } end
  local isKept = heard ~= '' and #redis.call('XRANGE', KEYS[7], heard .. '-0', heard .. '-0') == 1
  if not isKept and heard ~= '0' then return { notice, '-1' } end
  local entries = redis.call('XRANGE', KEYS[7], '(' .. heard .. '-0', '+', 'COUNT', 500)
  local last = entries[#entries]
  local reply = { last and string.match(last[1], '%d+') or notice, text(#entries) }
  for i, entry in ipairs(entries) do reply[i + 2] = entry[2][2] end
  return reply
end

-- Tells a notice to all pods, and returns its version. Of so many notices all are kept for so many milliseconds.
local function tell(said, most, ms)
  local told = text(math.max(tonumber(notice) + 1, now))
  redis.call('SET', KEYS[6], told, 'PX', ms)
  redis.call('XADD', KEYS[7], 'MAXLEN', most, told .. '-0', 'notice', said)
  redis.call('PEXPIRE', KEYS[7], ms)
  return told
end
