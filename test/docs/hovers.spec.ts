import { resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import ts from 'typescript';
import { MODULE_OPTIONS } from '../../libs/nest/src/options/options-table.js';
import { POLICY_OPTIONS } from '../../libs/floodgate/src/policy/policy-options.js';
import { durationToMilliseconds } from '../../libs/floodgate/src/util/duration.js';
import type { OptionRule } from '../../libs/floodgate/src/util/option-rules.js';

const LIBS = resolve('libs');
const ENTRIES = [
  'nest/src/index.ts',
  'nest/src/testing.ts',
  'nest/src/throttler.ts',
  'floodgate/src/index.ts',
  'floodgate/src/express.ts',
  'floodgate/src/fastify.ts',
  'floodgate/src/hono.ts',
  'floodgate/src/http.ts',
  'floodgate/src/redis.ts',
  'floodgate/src/testing.ts',
  'client/src/index.ts',
];
/** What applications write as objects. */
const WRITTEN =
  /(?:Options|Extras|Policy|Numbers|Choice|Calendar|Window|Removal|Change|Target|Adapter|Resolver|RateLimitStore|UnderTest)$/;
/** What they read. */
const READ = ['BoundPolicy', 'TablePolicy', 'StoreStateChange'];

/** What holds without the option. */
const DEFAULT = /\bdefault\b|\bwithout (?:it|this method)\b/i;

const NUMBER = String.raw`\d(?:[\d,.]*\d)?(?:e\d+)?`;
/** A number of an option's text, such as `1,000`, `1e12`, `'10s'` in backticks, or `100 years`. */
const VALUE = String.raw`\x60?'?${NUMBER}(?: ?(?:ms|s|min|m|hours|h|days|d|years)\b)?'?\x60?`;
/** Both bounds, as in `1 to 64`, `0 (default) to 5` or `above 0, below 1`; or all values, as in `0, 4 or 6`. */
const RANGE = new RegExp(
  String.raw`${VALUE}(?: \([^)]*\))?,? (?:to|at most|below) (?:${VALUE}|the |\x60)|\b\d(?:, \d)*,? or \d\b`,
);
const ENDLESS = new RegExp(`\\b(?:from|at least) ${VALUE}`);
/** The numbers whose upper bound the code does not check, by the type that declares them. */
const WITHOUT_UPPER_BOUND = new Set([
  'CallOptions.cost',
  'LimiterOptions.fallbackMaxBytes',
  'NodeLimitOptions.trustProxy',
  'RateLimitModuleOptions.maxWaiting',
  'RateLimitModuleOptions.maxWaitingPerClient',
  'LimiterOptions.maxQueuedCalls',
  'ShedOptions.heapUsed',
  'MemoryStoreOptions.maxKeys',
  'MemoryStoreOptions.maxBytes',
  'OverrideRemoval.ifVersion',
  'ScheduleOptions.maxWait',
  'OutgoingOptions.maxPause',
  'RedisConnectionOptions.db',
  'RedisConnectionOptions.connectTimeout',
  'RedisConnectionOptions.disconnectTimeout',
  'RedisConnectionOptions.keepAlive',
  'RedisConnectionOptions.maxLoadingRetryTime',
  'RedisConnectionOptions.sentinelCommandTimeout',
  'RedisConnectionOptions.sentinelMaxConnections',
  'RedisConnectionOptions.scripts.numberOfKeys',
  'RedisConnectionOptions.blockingTimeout',
  'RedisConnectionOptions.blockingTimeoutGrace',
]);
/** An option of ioredis that has no effect whatever its value is. */
const IGNORED = /^Ignored, and boot says so: /;

const UNITS = {
  duration: /\bmilliseconds\b/i,
  rate: /\b(?:per|a) second\b/i,
  number: /\bwhole number|\b(?:milliseconds|microseconds|bytes|bits|parts?|share|port|version|number)\b/i,
  function: /\bwhole number|\b(?:milliseconds|microseconds|number)\b/i,
} as const;

interface Hover {
  readonly name: string;
  /** Its name in the type that declares it. */
  readonly declared: string;
  readonly text: string;
  /** What the member is, if it is a number, or returns one. */
  readonly unit: keyof typeof UNITS | undefined;
  readonly isOptional: boolean;
}

/** What an editor says of the members of the exported types that applications write. */
function* hovers(): Generator<Hover> {
  const { config } = ts.readConfigFile('tsconfig.json', (file) => ts.sys.readFile(file)) as { config: unknown };
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, resolve('.'));
  const program = ts.createProgram(
    ENTRIES.map((entry) => `${LIBS}/${entry}`),
    options,
  );
  const checker = program.getTypeChecker();

  const parts = (type: ts.Type): readonly ts.Type[] => {
    const given = checker.getNonNullableType(type);
    return given.isUnion() ? given.types : [given];
  };
  /** What a type is, or holds as the members of an array or a record. */
  const held = (type: ts.Type): readonly ts.Type[] =>
    parts(type).flatMap((part) => {
      const inner = checker.getIndexTypeOfType(part, ts.IndexKind.Number) ?? part.getStringIndexType();
      return inner === undefined || (part.flags & ts.TypeFlags.Object) === 0 ? [part] : held(inner);
    });
  const isNumber = (type: ts.Type): boolean => (type.flags & ts.TypeFlags.Number) !== 0;
  /** Whether a function returns a quantity, and no identity, which may be text as well. */
  const isNumeric = (types: readonly ts.Type[]): boolean =>
    types.some(isNumber) && !types.some((type) => (type.flags & ts.TypeFlags.String) !== 0);
  const returned = (type: ts.Type): readonly ts.Type[] =>
    type
      .getCallSignatures()
      .flatMap((one) => parts(checker.getAwaitedType(one.getReturnType()) ?? one.getReturnType()));

  const unitOf = (member: ts.Symbol): Hover['unit'] => {
    const types = held(checker.getTypeOfSymbol(member));
    const written = (member.declarations![0] as ts.PropertySignature).type?.getText() ?? '';
    if (!types.some(isNumber)) return isNumeric(types.flatMap(returned)) ? 'function' : undefined;
    return /\bDuration\b/.test(written) ? 'duration' : /\bRate\b/.test(written) ? 'rate' : 'number';
  };

  function* membersOf(type: ts.Type, path: string, parent?: string): Generator<Hover> {
    for (const member of parts(type).flatMap((one) => one.getProperties())) {
      const [declaration] = member.declarations ?? [];
      // Of strings and arrays, of Nest and of Node.
      if (declaration?.getSourceFile().fileName.startsWith(LIBS) !== true) continue;
      if (member.getJsDocTags().some((tag) => tag.name === 'internal')) continue;
      const its = checker.getTypeOfSymbol(member);
      if ((checker.getNonNullableType(its).flags & ts.TypeFlags.Never) !== 0) continue;
      const owner = parent ?? (declaration.parent as Partial<ts.InterfaceDeclaration>).name?.text ?? '';
      const declared = `${owner}.${member.name}`;
      yield {
        name: `${path}.${member.name}`,
        declared,
        text: ts.displayPartsToString(member.getDocumentationComment(checker)).replaceAll(/\s+/g, ' '),
        unit: unitOf(member),
        isOptional: (member.flags & ts.SymbolFlags.Optional) !== 0,
      };
      // Types without a name have no other place for their members.
      for (const one of held(its).filter(isNameless)) yield* membersOf(one, `${path}.${member.name}`, declared);
    }
  }

  for (const entry of ENTRIES) {
    const module = checker.getSymbolAtLocation(program.getSourceFile(`${LIBS}/${entry}`)!)!;
    for (const exported of checker.getExportsOfModule(module)) {
      const symbol = exported.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(exported) : exported;
      const isType = (symbol.flags & (ts.SymbolFlags.Interface | ts.SymbolFlags.TypeAlias)) !== 0;
      if (!isType || !WRITTEN.test(symbol.name) || READ.includes(symbol.name)) continue;
      yield* membersOf(checker.getDeclaredTypeOfSymbol(symbol), symbol.name);
    }
  }
}

function isNameless(type: ts.Type): boolean {
  if (type.isIntersection()) return type.types.some(isNameless);
  return (
    (type.flags & ts.TypeFlags.Object) !== 0 &&
    type.getCallSignatures().length === 0 &&
    ((type.symbol as ts.Symbol | undefined)?.flags ?? 0) === ts.SymbolFlags.TypeLiteral
  );
}

const all = [...hovers()];

/** The options whose hover is not right, once each, with what it says. */
function those(isWrong: (hover: Hover) => boolean): Record<string, string> {
  const seen = new Set<string>();
  const first = all.filter(({ declared, text }) => {
    const what = `${declared} ${text}`;
    return !seen.has(what) && seen.add(what);
  });
  return Object.fromEntries(first.filter(isWrong).map(({ name, text }) => [name, text]));
}

describe('the hover of an option', () => {
  it('is there', () => {
    expect(all.length).toBeGreaterThan(400);
    expect(those(({ text }) => text === '')).toEqual({});
  });

  it('says what holds without the option', () => {
    expect(those(({ text, isOptional }) => isOptional && !DEFAULT.test(text))).toEqual({});
  });

  it('says the unit of a number', () => {
    expect(all.filter(({ unit }) => unit !== undefined).length).toBeGreaterThan(100);
    expect(those(({ text, unit }) => unit !== undefined && !UNITS[unit].test(text) && !IGNORED.test(text))).toEqual({});
  });

  it('says the range of a number', () => {
    const isWrong = ({ text, unit, declared }: Hover): boolean =>
      unit !== undefined &&
      unit !== 'function' &&
      !(WITHOUT_UPPER_BOUND.has(declared) ? ENDLESS : RANGE).test(text) &&
      !IGNORED.test(text);
    expect(those(isWrong)).toEqual({});
    const known = new Set(all.map(({ declared }) => declared));
    expect([...WITHOUT_UPPER_BOUND].filter((one) => !known.has(one))).toEqual([]);
  });
});

/** The numbers of a text; durations in milliseconds. */
function numbersIn(text: string): number[] {
  const values = text.match(new RegExp(VALUE, 'g')) ?? [];
  return values.map((value) => {
    const bare = value.replaceAll(/[\x60',]/g, '');
    return durationToMilliseconds(bare) ?? Number(bare);
  });
}

describe.each([
  ['RateLimitModuleOptions', MODULE_OPTIONS],
  ['TokenBucketPolicy', POLICY_OPTIONS],
])('the hovers of %s and the rules that the code checks', (type, rules) => {
  const ruled = Object.entries<OptionRule>(rules).map(([option, rule]) => {
    const hover = all.find(({ name }) => name === `${type}.${option}`);
    return { option, rule, text: hover?.text ?? '' };
  });

  it('have the same defaults', () => {
    const shown = (value: unknown): string =>
      typeof value === 'number'
        ? value.toLocaleString('en-US')
        : typeof value === 'string'
          ? `\`'${value}'\``
          : String(value);
    const isWrong = ({ rule, text }: (typeof ruled)[number]): boolean => {
      const isNone = rule.default === undefined || typeof rule.default === 'object';
      const value = shown(rule.default);
      return !isNone && ![`efault ${value}`, `${value} (default)`].some((words) => text.includes(words));
    };
    expect(ruled.filter(isWrong).map(({ option, text }) => [option, text])).toEqual([]);
  });

  it('have the same bounds', () => {
    const bounds = new RegExp(`from (${VALUE})(?: to (${VALUE}))?`);
    const isWrong = ({ rule, text }: (typeof ruled)[number]): boolean => {
      const [found = '', ...ends] = bounds.exec(rule.wanted) ?? [];
      const own = numbersIn(text);
      return found !== '' && !ends.every((end) => end === undefined || numbersIn(end).some((one) => own.includes(one)));
    };
    expect(ruled.filter((one) => bounds.test(one.rule.wanted)).length).toBeGreaterThan(2);
    expect(ruled.filter(isWrong).map(({ option, text }) => [option, text])).toEqual([]);
  });
});
