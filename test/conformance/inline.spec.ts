import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from '@jest/globals';
import { randomOf } from '../support/random.js';
import { SEED } from '../support/property-runs.js';
import { useRedis } from '../support/redis-fixture.js';

// Plain JavaScript without types, as lua/bundle.js.
const { inlined } = (await import(pathToFileURL(resolve('lua/inline.js')).href)) as {
  inlined: (text: string) => string;
};

const redis = useRedis();
const INPUTS = 200;
/** The numbers of a test, and what it answers: every number with all its digits. */
const HEAD = `
local x, y, z = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local log = {}
local function note(value) log[#log + 1] = tostring(value) return value end
local function out(...)
  local said = {}
  for i = 1, select('#', ...) do
    local value = select(i, ...)
    said[i] = type(value) == 'number' and string.format('%.17g', value + 0) or tostring(value)
  end
  return { table.concat(said, ' '), table.concat(log, ' ') }
end
`;

interface Program {
  readonly name: string;
  readonly text: string;
  /** What the faster text has to have. */
  readonly has?: RegExp;
  /** What it must not have any more. */
  readonly hasNot?: RegExp;
}

const FUNCTION_F = /function f\d*\(/;
const INLINED: Partial<Program> = { hasNot: FUNCTION_F };
const KEPT: Partial<Program> = { has: FUNCTION_F };

const PROGRAMS: readonly Program[] = [
  {
    name: 'an expression',
    ...INLINED,
    text: 'local function f(a) return a * 2 + 1 end return out(f(x) * f(y), -f(z))',
  },
  {
    name: 'early returns',
    ...INLINED,
    text: `local function f(a, b)
      if a > b then return a end
      if a == b then return 0 elseif b > 5 then note(b) return b end
      note('end')
      return a - b
    end
    local one = f(x, y)
    local two = 7
    two = f(y, one)
    return out(one, two)`,
  },
  {
    name: 'an end without a return',
    ...INLINED,
    text: `local function f(a) if a > 0 then return a end note('none') end
    local one = f(x)
    f(y)
    return out(one, x)`,
  },
  {
    name: 'an assignment from a function that may return nothing',
    ...KEPT,
    text: 'local function f(a) if a > 0 then return a end end local one = 5 one = f(x) return out(one)',
  },
  {
    name: 'shadowed names',
    ...INLINED,
    text: `local a, b = x, y
    local function f(b) local a = b + a return a end
    local x = f(b)
    do local a = 100 local b = f(a) x = x + b end
    for a = 1, 3 do local c = f(a) x = x + c end
    return out(a, b, x)`,
  },
  {
    name: 'an argument that is the target',
    ...INLINED,
    text: `local function f(a, b) if a > b then return b, a end local c = a + 1 return c, b + c end
    local m, n = x, y
    m, n = f(m, n)
    n, m = f(m, n)
    local m = f(n, m)
    return out(m, n)`,
  },
  {
    name: 'writes to parameters',
    ...INLINED,
    text: `local function f(a, b) a = a + b if a > 3 then b = a return b end return a end
    local one = f(x, y)
    local two = f(one, 1)
    return out(x, y, one, two)`,
  },
  {
    name: 'writes to a variable of the caller that is an argument',
    ...INLINED,
    text: `local total = x
    local function f(a) total = total + 1 local before = a total = total + a return before end
    local one = f(total)
    local two = f(y)
    return out(one, two, total)`,
  },
  {
    name: 'a function that writes what stands beside its call',
    text: `local n = x
    local function g(a) n = n + 1 return a end
    local function f(a, b) return a * 10 + b end
    local one = f(n, g(y))
    local two = n + g(n) + n
    return out(one, two, n)`,
  },
  {
    name: 'recursion',
    ...KEPT,
    text: 'local function f(n) if n < 1 then return 0 end return n % 7 + f(n / 3) end return out(f(x), f(y))',
  },
  {
    name: 'mutual recursion',
    ...KEPT,
    text: `local g
    local function f(n) if n < 1 then return 'f' end return g(n / 2) end
    g = function(n) if n < 1 then return 'g' end return f(n / 2) end
    return out(f(x), g(y))`,
  },
  {
    name: 'functions as values',
    ...KEPT,
    text: `local function f(a) return a + 1 end
    local function twice(h, a) return h(h(a)) end
    local list = { f }
    return out(twice(f, x), list[1](y), f(z))`,
  },
  {
    name: 'another name of a function',
    ...INLINED,
    text: 'local function f(a) if a > 0 then return 1 end return a end local its = f local r = its(x) return out(r)',
  },
  {
    name: 'a return within a loop',
    ...KEPT,
    text: `local function f(a) for i = 1, 5 do if i > a then return i end end return -1 end
    local one = f(x)
    local two = f(y % 5)
    return out(one, two)`,
  },
  {
    name: 'loops and breaks around early returns',
    ...INLINED,
    text: `local function f(a) if a > 2 then return 1 end for i = 1, 9 do if i > a then break end note(i) end return 2 end
    local sum = 0
    for i = 1, 4 do
      local one = f(x % 4 + i - 2)
      if one == 1 and y > 0 then break end
      sum = sum + one
    end
    local i = 0
    while true do i = i + 1 f(i) if i > 3 then break end end
    repeat local last = f(i) i = i - last until last == 2 and i < 3
    return out(sum, i)`,
  },
  {
    name: 'functions within functions, several deep',
    ...INLINED,
    text: `local function h(a) if a < 0 then return -a end return a end
    local function g(a, b) local m = h(a) local n = h(b) if m > n then return m, n end return n, m end
    local function f(a) local m, n = g(a, y) if m == n then return 0 end return m - n end
    local one = f(x)
    local two = f(z)
    return out(one, two)`,
  },
  {
    name: 'multiple assignment and returns',
    ...INLINED,
    text: `local function f(a, b) return b, a, a + b end
    local p, q, r, s = f(x, y)
    local t = f(y, z)
    p, q = f(q, p)
    return out(p, q, r, s, t)`,
  },
  {
    name: 'all returns of a call, or some',
    text: `local function f(a) return a, a + 1 end
    local p, q = f(x)
    local r = f(y)
    local function g(a) return f(a) end
    local s, t = g(z)
    return out(p, q, r, s, t, f(x), g(y))`,
  },
  {
    name: 'one value of a logical expression',
    text: `local function f(a) return a, a + 1 end
    local yes, no = true, false
    return out(yes and f(x), no or f(y))`,
  },
  {
    name: 'more arguments than parameters, with effects',
    text: `local function f(a) note(a) return a end
    local one = f(x, note(y))
    f(y, note(z))
    return out(one, f(1, note(2)))`,
  },
  {
    name: 'fewer arguments than parameters, and several values of the last one',
    text: `local function two(a) return a, a + 1 end
    local function f(a, b) if b then return b end return 'none' end
    local one = f(x)
    local other = f(two(y))
    return out(one, other, f(two(z)))`,
  },
  {
    name: 'closures that keep an argument',
    text: `local n = x
    local function f(a) return function() return a end end
    local kept = f(n)
    n = n + 1
    local function g(a) local h = function() return a end return h end
    local also = g(n)
    n = n + 1
    return out(kept(), also(), n)`,
  },
  {
    name: 'locals with the names of globals',
    text: `local function f(a) return tostring(a) .. type(a) end
    local tostring, type = note(5), note(6)
    local one = f(x)
    return out(one, tostring, type)`,
  },
  {
    name: 'locals that come after a function with their name',
    text: `local function f(a) limit = a return limit end
    local limit = 3
    local ok = pcall(f, x)
    return out(limit, ok)`,
  },
  {
    name: 'constants and branches that never run',
    hasNot: /never|two\b/,
    text: `local two, no, none = 2, false, nil
    local function f(a, is) if is then return note('never') elseif not is and none == nil then return a * two end end
    local one = f(x, no)
    if no then note('never') elseif two then one = one + (none or two) else note('never') end
    return out(one)`,
  },
  {
    name: 'negative constants beside operators',
    text: `local minus, half = -3, 0.5
    local function f(a) return a - minus end
    return out(minus ^ 2, -minus, 2 - minus, x - f(minus), 2 ^ -half, -x ^ 2, -(x - minus) * minus, not (x == minus))`,
  },
  {
    name: 'the order of operators',
    text: `local function add(a, b) return a + b end
    local function either(a, b) return a or b end
    return out(add(x, y) * add(y, z), x - add(y, z), (x .. y) .. z, add(x, y) .. either(nil, z), 2 ^ add(1, 2) ^ 1,
      -add(x, 1), either(false, x) == y, (x < y) == (y < z), (either(nil, nil) and 1) or 2)`,
  },
  {
    name: 'tables that are read at constant places',
    hasNot: /local t = \{/,
    text: 'local t = { x, y + 1, z } local u = t[2] t[2 + 2] = 5 return out(t[1] + t[3], u)',
  },
  {
    name: 'tables that are used otherwise',
    text: `local t = { x, y, z }
    local u, v = { x, y, z }, { x, y, z }
    u[2] = 7
    local function f(all) return all[1] end
    return out(#t, f(t), u[2], v[1], v[4])`,
  },
  {
    name: 'loops without a body whose bounds have effects',
    text: 'for i = 1, note(3) do end for i = 1, 3 do end return out(x)',
  },
  {
    name: 'unused values with effects',
    text: 'local a, b = note(x), 5 local c = { note(y) } local d, e = note(z) return out(b)',
  },
  {
    name: 'floor and ceil',
    text: `local floor, ceil = math.floor, math.ceil
    local function f(a, b) return floor(a * b / 3) end
    return out(floor(x) == math.floor(x), ceil(x) == math.ceil(x), floor(x), ceil(x), floor(y), ceil(y), f(x, y), ceil(y / (z * z + 1) - 1))`,
  },
];

const WHOLE = [0, 1, -1, 2, 3, 5, 1000, -1000];
const LARGE = 2 ** 53;

/** Whole numbers, small parts, numbers near whole ones, and those near 2^53. */
function numberOf(random: (bound: number) => number): number {
  const sign = random(2) === 0 ? 1 : -1;
  const any = random(2 ** 31) / 2 ** 31;
  switch (random(7)) {
    case 0:
      return WHOLE[random(WHOLE.length)]!;
    case 1:
      return sign * any * 10;
    case 2:
      return sign * any * 2 ** random(53);
    case 3:
      return sign * (LARGE - 1 - random(4));
    case 4:
      return sign * (LARGE / 2 - random(8) / 2);
    case 5:
      return sign * any * 2 ** -random(80);
    default:
      return sign * (random(10) + (random(3) - 1) * 2 ** -(30 + random(20)));
  }
}

describe('lua/inline.js', () => {
  it.each(PROGRAMS)('does what the program does: $name', async ({ text, has, hasNot }) => {
    const faster = inlined(HEAD + text);
    expect([has?.test(faster) ?? true, hasNot?.test(faster) ?? false]).toEqual([true, false]);
    const random = randomOf(SEED);
    const inputs = Array.from({ length: INPUTS }, () => [numberOf(random), numberOf(random), numberOf(random)]);
    const answers = (program: string): Promise<unknown[]> =>
      Promise.all(inputs.map((numbers) => redis.client.eval(program, 0, ...numbers)));
    expect(await answers(faster)).toEqual(await answers(HEAD + text));
  });
});
