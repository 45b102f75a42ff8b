-- The keys of a batch for one node of a Cluster, which may lie in any slots of the node.
--
-- A node rejects a call whose declared keys lie in several slots, but it lets a script read and write any key that it holds. So
-- one key is declared, and the others stand at the end of ARGV.
--
-- For a request one of whose keys the node does not hold, or holds no more while its slot migrates, the reply is ELSEWHERE alone:
-- nothing is charged for it. The error UNDECLARED, before anything is written, comes from a server that lets no script read a key
-- that was not declared.
local KEYS, declared = KEYS, #KEYS
for i = others, #ARGV do KEYS[#KEYS + 1] = ARGV[i] end
