import type { Policy } from './library.js';
import { algorithmOf, duration, lowPart, MONTH_MS, policiesOf, type Settings } from './settings.js';

/** A request renews its lease a few hundred times at most, so that the page stays quick. */
const MAX_LEASES = 100;

/** The policy of each row with what people call it, whom it counts, its plans, and the two classes of requests. */
export function codedPolicy(policy: Policy, { name, by, pro }: Settings, hasLow: boolean): Policy {
  const { algorithm, ...numbers } = policy;
  return {
    ...(name !== '' && { name }),
    algorithm,
    ...numbers,
    ...(by !== 'client' && { by }),
    ...(pro > 1 && { plans: { pro: timesOf(numbers, pro) } }),
    ...(hasLow && { priorities: { high: 1, low: lowPart(algorithmOf(policy).limit) } }),
  } as Policy;
}

/** Why settings that are right alone do not go together, in the words of the library; undefined where they do. */
export function problemOf(settings: Settings): string | undefined {
  const { durationMs, leaseMs, calendar, windowMs } = settings;
  if (calendar !== 'none' && windowMs !== MONTH_MS) {
    return `Beside a month of the calendar the other windows are ${duration(MONTH_MS)}, got ${duration(windowMs)}`;
  }
  if (durationMs > leaseMs * MAX_LEASES) {
    return `A request takes at most ${MAX_LEASES} leases, got ${duration(durationMs)} with a lease of ${duration(leaseMs)}`;
  }
  try {
    for (const policy of policiesOf(settings)) algorithmOf(codedPolicy(policy, settings, false));
    return undefined;
  } catch (error) {
    return (error as Error).message.replace(/ \(see http.*\)$/, '');
  }
}

/** The counts and rates of a policy, so many times. */
function timesOf(numbers: object, times: number): object {
  const scaled = Object.entries(numbers).flatMap(([option, value]: [string, unknown]) => {
    if (typeof value === 'number') return [[option, round(value * times)]];
    if (typeof value !== 'string') return [];
    const [count, unit] = value.split('/');
    return unit === undefined ? [] : [[option, `${round(Number(count) * times)}/${unit}`]];
  });
  return Object.fromEntries(scaled) as object;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

/** The policy as a decorator, in the style of the documentation: `@RateLimit({ algorithm: 'token-bucket', ... })`. */
export function decoratorOf(policy: Policy): string {
  return `@RateLimit(${shown(policy)})`;
}

function shown(value: unknown): string {
  if (typeof value === 'string') return `'${value.replaceAll(/['\\]/g, String.raw`\$&`)}'`;
  if (typeof value !== 'object' || value === null) return String(value);
  return `{ ${Object.entries(value)
    .map(([name, one]) => `${name}: ${shown(one)}`)
    .join(', ')} }`;
}

const RESOLVERS: Readonly<Partial<Record<Settings['by'], string>>> = {
  user: `{ kind: 'user', resolve: ({ user }: RateLimitRequest<{ user?: { id: string } }>) => user?.id }`,
  'api-key': 'apiKeyIdentity()',
};

/** A whole `app.module.ts` with the policy: routes of both classes where it has priorities, and what its plans and `by` need. */
export function moduleOf(policy: Policy): string {
  const { by = 'client', plans, priorities } = policy;
  const resolver = RESOLVERS[by as keyof typeof RESOLVERS];
  const options = [
    'redis: process.env.REDIS_URL, // no URL: each process counts for itself',
    ...(resolver === undefined ? [] : [`identity: [${resolver}, ipIdentity()],`]),
    ...(plans === undefined
      ? []
      : ['plan: { resolve: ({ user }: RateLimitRequest<{ user?: { plan?: string } }>) => user?.plan },']),
  ].map((line) => `      ${line}`);
  const imports = [
    ...(by === 'api-key' ? ['apiKeyIdentity'] : []),
    ...(resolver === undefined ? [] : ['ipIdentity']),
    ...(priorities === undefined ? [] : ['type Policy']),
    'RateLimit',
    'RateLimitModule',
    ...(options.join('').includes('RateLimitRequest') ? ['type RateLimitRequest'] : []),
  ];
  // Routes share one state by the policy's name.
  const shared = { name: 'shared', ...policy, scope: 'app' };
  const [head, routes] =
    priorities === undefined
      ? [[], route('', decoratorOf(policy))]
      : [
          [`const POLICY = ${shown(shared)} as const satisfies Policy;`, ''],
          [...route('', '@RateLimit(POLICY)'), '', ...route('low', `@RateLimit({ ...POLICY, priority: 'low' })`)],
        ];
  return [
    `import { Controller, Get, Module } from '@nestjs/common';`,
    `import { ${imports.join(', ')} } from 'nestjs-floodgate';`,
    '',
    ...head,
    '@Controller()',
    'export class LimitedController {',
    ...routes,
    '}',
    '',
    '@Module({',
    '  imports: [',
    '    RateLimitModule.forRoot({',
    ...options,
    '    }),',
    '  ],',
    '  controllers: [LimitedController],',
    '})',
    'export class AppModule {}',
    '',
  ].join('\n');
}

function route(path: string, decorator: string): string[] {
  const get = path === '' ? '@Get()' : `@Get('${path}')`;
  return [`  ${get}`, `  ${decorator}`, `  ${path || 'get'}(): string {`, `    return 'served';`, '  }'];
}
