import { setImmediate as endOfTurn } from 'node:timers/promises';
import { NestFactory } from '@nestjs/core';
import { describe, it, jest } from '@jest/globals';
import * as fc from 'fast-check';
import type { Cluster, Redis } from 'ioredis';
import {
  type Decision,
  MemoryStore,
  type Policy,
  RateLimiter,
  RateLimitModule,
  type RateLimitModuleOptions,
  RedisStore,
} from 'nestjs-floodgate';
import type { Textbook } from '../../libs/textbook/textbook.js';
import type { Verdict } from '../../libs/rate-limit/src/stores/store.js';
import { algorithmOf } from '../support/algorithm-of.js';
import { forwards, type Move, MovingClock, starts } from '../support/arbitrary-instants.js';
import { type Cost, costFor, costs, policyOf } from '../support/arbitrary-policies.js';
import { expectSame } from '../support/expect-same.js';
import { useOneNode } from '../support/faults/by-node.js';
import { useCluster } from '../support/faults/cluster-fixture.js';
import { untilByNode } from '../support/faults/until-by-node.js';
import { loadPrograms } from '../support/programs.js';
import { histories, HISTORY_TIMEOUT_MS } from '../support/property-runs.js';
import { useRedis } from '../support/redis-fixture.js';
import { textbookOf } from '../support/textbook-of.js';

jest.setTimeout(60_000); // six servers share the machine with the other tests

const ADA = { kind: 'user', value: 'ada' };
const NAMES = ['fixed-window', 'token-bucket', 'sliding-window-log', 'sliding-window-counter'] as const;

/** One request: of the first row alone, or of all rows. */
interface Asked {
  readonly cost: Cost;
  readonly isOfAll: boolean;
}

/** Requests of one instant. */
interface Turn {
  readonly move: Move;
  readonly requests: readonly Asked[];
}

interface History {
  readonly start: number;
  /** The policies of each row, the first one first. A row of one has no `else`. */
  readonly rows: readonly (readonly Policy[])[];
  readonly turns: readonly Turn[];
}

const policies = fc.constantFrom(...NAMES).chain(policyOf);
/** A leaky bucket may be the first policy of a row: its requests wait. At most one policy of a request may. */
const firstRow = fc.oneof(
  { weight: 4, arbitrary: fc.array(policies, { minLength: 2, maxLength: 4 }) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(policyOf('leaky-bucket'), fc.array(policies, { minLength: 1, maxLength: 3 }))
      .map(([first, rest]) => [first, ...rest]),
  },
);
const asked: fc.Arbitrary<Asked> = fc.record({ cost: costs, isOfAll: fc.boolean() });
const historiesOfRows: fc.Arbitrary<History> = fc.record({
  start: starts,
  rows: fc
    .tuple(firstRow, fc.array(fc.array(policies, { minLength: 1, maxLength: 4 }), { maxLength: 2 }))
    .map(([first, rest]) => [first, ...rest]),
  turns: fc.array(fc.record({ move: forwards, requests: fc.array(asked, { minLength: 1, maxLength: 5 }) }), {
    minLength: 1,
    maxLength: 10,
  }),
});

/** The names of a row: `r0.0`, whose `else` is `r0.1`, and so on. */
function namesOf(row: readonly Policy[], r: number): string[] {
  return row.map((_, i) => `r${r}.${i}`);
}

/** @param isSpread whether every second policy counts all clients together, so that each of them has a slot of its own */
function named(rows: History['rows'], isSpread: boolean): Record<string, Policy> {
  const all: Record<string, Policy> = {};
  for (const [r, row] of rows.entries()) {
    const names = namesOf(row, r);
    for (const [i, policy] of row.entries()) {
      all[names[i]!] = {
        ...policy,
        ...(isSpread && (r + i) % 2 === 1 && { by: 'global' }),
        ...(i + 1 < row.length && { else: names[i + 1]! }),
      };
    }
  }
  return all;
}

/** What a row says to a request: the policy that takes it, or the one that has room first. */
interface Said {
  readonly policy: number;
  readonly allowed: boolean;
  readonly retryAfter: number;
}

/** A request as a store gets it. */
interface Request {
  readonly cost: number;
  /** The number of rows. */
  readonly rows: number;
}

/** What the rows say to a request. */
interface Told {
  readonly said: readonly Said[];
  readonly delay: number;
}

/** The oracle: each row's first textbook that the request fits takes it, if every row has one. */
class Oracle {
  private readonly books: readonly (readonly Textbook[])[];

  constructor(rows: History['rows']) {
    this.books = rows.map((row) => row.map((policy) => textbookOf(algorithmOf(policy))));
  }

  /** Requests that come one after the other. */
  askEach(at: number, requests: readonly Request[]): Told[] {
    return requests.map(({ cost, rows }) => this.ask(at, cost, this.books.slice(0, rows)));
  }

  /**
   * Requests that come at once. All of them ask about their first policies, in their order. Those that do not fit ask again, in their
   * order: about the whole of each row that had no room.
   */
  askTogether(at: number, requests: readonly Request[]): Told[] {
    const told: Told[] = [];
    let open = requests.map(({ cost, rows }, i) => ({ cost, i, lengths: this.books.slice(0, rows).map(() => 1) }));
    while (open.length > 0) {
      open = open.filter(({ cost, i, lengths }) => {
        const answer = (told[i] = this.ask(
          at,
          cost,
          lengths.map((length, r) => this.books[r]!.slice(0, length)),
        ));
        const goOn = answer.said.map(({ allowed }, r) => !allowed && lengths[r]! < this.books[r]!.length);
        for (const [r, goes] of goOn.entries()) if (goes) lengths[r] = this.books[r]!.length;
        return goOn.includes(true);
      });
    }
    return told;
  }

  private ask(at: number, cost: number, rows: readonly (readonly Textbook[])[]): Told {
    const said = rows.map((row) => saidOf(row, at, cost || 1));
    if (!said.every(({ allowed }) => allowed)) return { said, delay: 0 };
    const delays = rows.map((row, r) => row[said[r]!.policy]!.ask(at, cost).delay);
    return { said, delay: Math.max(...delays) };
  }
}

function saidOf(row: readonly Textbook[], at: number, cost: number): Said {
  const taking = row.findIndex((book) => book.fits(at, cost));
  if (taking >= 0) return { policy: taking, allowed: true, retryAfter: 0 };
  const waits = row.map((book) => book.retryAfter(at, cost));
  const retryAfter = Math.min(...waits);
  return { policy: waits.indexOf(retryAfter), allowed: false, retryAfter };
}

/** What a decision says, in the oracle's words. */
function toldBy({ allowed, policies: told, retryAfterMs, delayMs }: Decision): object {
  return {
    allowed,
    policies: told.map((one) => ({
      policy: one.policy,
      allowed: one.allowed,
      insteadOf: one.insteadOf,
      retryAfter: microseconds(one.retryAfterMs),
    })),
    retryAfter: microseconds(retryAfterMs),
    delay: microseconds(delayMs),
  };
}

function microseconds(ms: number | null): number {
  return ms === null ? Infinity : Math.round(ms * 1000);
}

function namesIn({ allowed, policies: told }: Decision): object {
  return { allowed, names: told.map(({ policy, insteadOf }) => [policy, insteadOf]) };
}

/** Makes the requests of a turn, each of the policies with these names, and returns their decisions. */
type Ask = (
  limiter: RateLimiter,
  requests: readonly { what: readonly string[]; cost: number }[],
) => Promise<Decision[]>;

interface Played {
  readonly options: RateLimitModuleOptions;
  readonly clock: MovingClock;
  readonly ask: Ask;
  /** Whether the requests of a turn come at once. */
  readonly together?: boolean;
  /** Whether the rows lie in several slots. */
  readonly isSpread?: boolean;
}

/** The decisions of a history are the oracle's, and what ran over is counted. */
async function expectTheOracles(history: History, played: Played): Promise<void> {
  const { options, clock, ask, together = false, isSpread = false } = played;
  const { rows, turns } = history;
  const module = RateLimitModule.forRoot({ ...options, policies: named(rows, isSpread) });
  await using app = await opened(module);
  const { limiter } = app;
  const oracle = new Oracle(rows);
  const first = algorithmOf(rows[0]![0]!);
  const names = rows.map((row, r) => namesOf(row, r));
  const ranOver = new Map<string, number>();
  let verdicts: Verdict[] = [];
  for (const { move, requests: made } of turns) {
    clock.move(move, first, verdicts);
    const requests = made.map(({ cost, isOfAll }) => ({
      cost: costFor(first, cost),
      rows: isOfAll ? rows.length : 1,
    }));
    const decisions = await ask(
      limiter,
      requests.map(({ cost, rows: count }) => ({ what: names.slice(0, count).map((row) => row[0]!), cost })),
    );
    const told = together ? oracle.askTogether(clock.now, requests) : oracle.askEach(clock.now, requests);
    expectSame(
      decisions.map(toldBy),
      told.map((one) => wantedOf(one, names)),
    );
    for (const [i, { said }] of told.entries()) {
      for (const [r, one] of said.entries()) {
        if (!said.every(({ allowed }) => allowed) || requests[i]!.cost === 0 || one.policy === 0) continue;
        const pair = `${names[r]![0]} to ${names[r]![one.policy]}`;
        ranOver.set(pair, (ranOver.get(pair) ?? 0) + 1);
      }
    }
    verdicts = told.map(({ said, delay }) => ({
      allowed: said.every(({ allowed }) => allowed),
      at: clock.now,
      charges: said.map((one) => ({ ...one, remaining: 0, resetAfter: 0, delay })),
    }));
  }
  const counted = limiter
    .stats()
    .runOver.map(({ policy, to, requests: times }) => [`${policy} to ${to}`, times] as const);
  expectSame(new Map(counted), ranOver);
}

/** What a decision has to say. */
function wantedOf({ said, delay }: Told, names: readonly (readonly string[])[]): object {
  const allowed = said.every((one) => one.allowed);
  return {
    allowed,
    policies: said.map((one, r) => ({
      policy: names[r]![one.policy]!,
      allowed: one.allowed,
      insteadOf: one.policy === 0 ? undefined : names[r]![one.policy - 1]!,
      retryAfter: one.retryAfter,
    })),
    retryAfter: allowed ? 0 : Math.max(...said.map(({ retryAfter }) => retryAfter)),
    delay,
  };
}

async function opened(module: ReturnType<typeof RateLimitModule.forRoot>) {
  const context = await NestFactory.createApplicationContext(module, { logger: false });
  return { limiter: context.get(RateLimiter), [Symbol.asyncDispose]: () => context.close() };
}

/** One by one: each request is decided before the next one comes, and what it has to refund is refunded. */
const oneByOne: Ask = async (limiter, requests) => {
  const decisions: Decision[] = [];
  for (const { what, cost } of requests) {
    decisions.push(await limiter.consume(what, ADA, { cost }));
    await endOfTurn();
  }
  return decisions;
};

const atOnce: Ask = (limiter, requests) =>
  Promise.all(requests.map(async ({ what, cost }) => limiter.consume(what, ADA, { cost })));

/** A queue whose slots are shorter than a microsecond: a rejection in another slot does not refund it. */
function isFast({ rows }: History): boolean {
  const { name, wire } = algorithmOf(rows[0]![0]!);
  return name === 'leaky-bucket' && wire.numbers[0]! > wire.numbers[1]!;
}

const redis = useRedis();
const one = useOneNode();
const several = useCluster();

/** A Redis with the keys of all policies in one slot, or in slots of several nodes. */
interface Place {
  readonly client: Redis | Cluster;
  readonly nodes: readonly { readonly host: string; readonly port: number; readonly client: Redis }[];
}

const PLACES = {
  redis: async (): Promise<Place> => ({ client: redis.client, nodes: [] }),
  'one node': async (): Promise<Place> => {
    const { host, port } = one.server;
    return { client: one.client, nodes: [{ host, port, client: one.admin }] };
  },
  'several nodes': async (): Promise<Place> => {
    const nodes = await several.cluster.masters();
    for (const { client } of nodes) await loadPrograms(client);
    return { client: several.client, nodes };
  },
};

describe('a request that does not fit a policy is charged to the first one of its row that it fits, as textbooks in a row', () => {
  it(
    'in memory, with and without a promise, and as it was peeked',
    async () => {
      const law = fc.asyncProperty(historiesOfRows, async (history) => {
        const clock = new MovingClock(history.start, 0);
        const store = new MemoryStore({ clock: clock.read, maxSkew: 0 });
        const ask: Ask = async (limiter, requests) => {
          const decisions: Decision[] = [];
          for (const [i, { what, cost }] of requests.entries()) {
            const peeked = await limiter.peek(what, ADA);
            const decision =
              i % 2 === 0 ? limiter.consumeSync(what, ADA, { cost }) : await limiter.consume(what, ADA, { cost });
            if (cost <= 1) expectSame(namesIn(peeked), namesIn(decision));
            decisions.push(decision);
          }
          return decisions;
        };
        await expectTheOracles(history, { options: { store }, clock, ask });
      });
      await fc.assert(law, histories(0.5));
    },
    HISTORY_TIMEOUT_MS,
  );

  /**
   * On a Cluster the keys of a client lie in one slot, and a row within it is decided in one step. Rows in several slots are asked
   * policy by policy. Requests at once are then charged in one slot while they are rejected in another one, and reject each other for
   * that moment: which of them are allowed depends on the order of the answers of the slots, so that no oracle can say it.
   * test/concurrency/else.spec.ts shows that they exceed no limit.
   */
  it.each<{ where: string; place: keyof typeof PLACES; share: number } & Pick<Played, 'together' | 'isSpread'>>([
    { where: 'in Redis', place: 'redis', share: 0.2 },
    { where: 'in Redis, several at once', place: 'redis', share: 0.3, together: true },
    { where: 'in one slot of a Cluster', place: 'one node', share: 0.1 },
    { where: 'in one slot of a Cluster, several at once', place: 'one node', share: 0.2, together: true },
    { where: 'in several slots of a Cluster, one by one', place: 'several nodes', share: 0.2, isSpread: true },
  ])(
    '$where',
    async ({ place, share, together = false, isSpread = false }) => {
      let clock = new MovingClock(0, 0);
      const { client, nodes } = await PLACES[place]();
      const store = new RedisStore(client, { clock: () => clock.now, maxSkew: 0 });
      if (nodes.length > 0) await untilByNode(store, nodes);
      const options = { store, denialCache: 0, deadline: '10s' } as const;
      const ask = together ? atOnce : oneByOne;
      const law = fc.asyncProperty(historiesOfRows, async (history) => {
        fc.pre(!isSpread || !isFast(history));
        for (const { client: server } of nodes.length > 0 ? nodes : [redis]) await server.flushdb();
        clock = new MovingClock(history.start, 0);
        await expectTheOracles(history, { options, clock, ask, together, isSpread });
      });
      await fc.assert(law, histories(share));
    },
    HISTORY_TIMEOUT_MS,
  );
});
