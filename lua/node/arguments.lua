-- The same program for one node of a Cluster: the keys of a batch may lie in any slots.
--
-- A node rejects a call whose declared keys lie in several slots, but it lets a script read and write any key that it holds. So
-- one key is declared, and the others stand before the arguments of lua/program.lua.
--
-- KEYS     the first key of the batch
-- ARGV     the other keys, then ARGV[1] to ARGV[4] of lua/program.lua
-- returns  as lua/program.lua; ELSEWHERE alone for a request one of whose keys this node does not hold, or holds no more while
--          its slot migrates: nothing is charged for it. The error UNDECLARED, before anything is written, where the server
--          lets no script read a key that was not declared.
--
-- It stands before lua/program.lua, with the files of this folder in the place of those of the same name.
local KEYS, ARGV = { KEYS[1] }, ARGV
do
  local others = #ARGV - 4
  for i = 1, others do KEYS[i + 1] = ARGV[i] end
  ARGV = { ARGV[others + 1], ARGV[others + 2], ARGV[others + 3], ARGV[others + 4] }
end
