-- Any other name is that of a charge that is charged apart, such as 'shadow:token-bucket' or 'instead:token-bucket'.
-- It shares the functions of the algorithm behind the colon: both may charge one key.
local kind, name = string.match(algorithm, '^(%l+):(.+)$')
built[name], apart = built[name] or build(name), true
local own = { [kind] = true }
for part, value in pairs(built[name]) do own[part] = value end
return own
