-- In a row with shadows or blocks its charges are made differently often. By place in ARGV[4], how many requests fit each charge.
local rooms = {}

-- How often a charge is made; of a block, how many requests of the row the charge before it rejects.
-- last  the place of the row's last charge
local function timesApart(i, last, algorithm, take, admitted, count)
  if not algorithm.block then
    if not algorithm.shadow then return admitted end
    local times = min(admitted, max(0, rooms[i]))
    -- A shadow behind which a block has closed is not charged. A block stands behind its charge.
    local behind = i < last and policies[byte(ARGV[4], i + 4) % 64][1]
    return behind and behind.block and rooms[i + 4] == 0 and 0 or times
  end
  -- The charge before it rejects what comes after the requests that fit it. If more fit than were made, it rejects none.
  local before = max(0, rooms[i - 4])
  if take == 0 or rooms[i] == 0 or before > admitted then return 0 end
  return count - before
end
