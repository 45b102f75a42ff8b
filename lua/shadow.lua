-- Any other name is that of a shadow, such as 'shadow:token-bucket'.
-- It shares the functions of the algorithm that it shadows: both may charge one key.
local name, shadow = sub(algorithm, 8), { shadow = true }
built[name], apart = built[name] or build(name), true
for part, value in pairs(built[name]) do shadow[part] = value end
return shadow
