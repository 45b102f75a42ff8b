-- The algorithm that a name such as 'shadow:token-bucket' stands for.
local function shadow(name)
  local algorithm = build(sub(name, 8))
  algorithm.shadow, apart = true, true
  return algorithm
end
