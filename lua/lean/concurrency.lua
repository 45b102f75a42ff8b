-- Leases are charged as the entries of a log: see algorithms/concurrency.lua. A renewal is not plain.
plain = not c or c == 0
if not plain then break end
--- @include "sliding-window-log.lua"
