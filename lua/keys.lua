-- The keys of a batch for one node of a Cluster, which may lie in any slots of the node.
--
-- A node rejects a call whose declared keys lie in several slots, but it lets a script read and write any key that it holds. So
-- one key is declared, and the others stand at the end of ARGV.
--
-- If the node does not hold a key of a request, or no longer holds it while the slot migrates, the reply for that request is
-- ELSEWHERE, and nothing is charged for it. A server that lets no script read an undeclared key gives the error UNDECLARED
-- before anything is written.
local KEYS, declared = KEYS, #KEYS
for i = others, #ARGV do KEYS[#KEYS + 1] = ARGV[i] end
