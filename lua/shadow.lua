-- What is left is a shadow, such as 'shadow:token-bucket'.
local shadow = build(sub(algorithm, 8))
shadow.shadow, apart = true, true
return shadow
