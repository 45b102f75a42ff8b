import { setImmediate as endOfTurn } from 'node:timers/promises';
import { NestFactory } from '@nestjs/core';
import { describe, it, jest } from '@jest/globals';
import * as fc from 'fast-check';
import {
  type Decision,
  MemoryStore,
  RateLimiter,
  RateLimitModule,
  type RateLimitModuleOptions,
  RedisStore,
} from 'nestjs-floodgate';
import type { Verdict } from '../../libs/rate-limit/src/stores/store.js';
import { algorithmOf } from '../support/algorithm-of.js';
import { MovingClock } from '../support/arbitrary-instants.js';
import { costFor } from '../support/arbitrary-policies.js';
import { expectSame } from '../support/expect-same.js';
import { useCluster } from '../support/faults/cluster-fixture.js';
import { untilByNode } from '../support/faults/until-by-node.js';
import { loadPrograms } from '../support/programs.js';
import { histories, HISTORY_TIMEOUT_MS } from '../support/property-runs.js';
import { useRedis } from '../support/redis-fixture.js';
import { type History, historiesOfRows, isFast, named, namesOf, Oracle, type Told } from './else-oracle.js';

jest.setTimeout(60_000); // six servers share the machine with the other tests

const ADA = { kind: 'user', value: 'ada' };
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

const redis = useRedis();
const several = useCluster();

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
   * On a Cluster the keys of a client lie in one slot, and a row within it is decided in one step, as by one server:
   * test/equivalence/by-node.clients.spec.ts. Rows in several slots are asked policy by policy. Requests at once are then charged in
   * one slot while they are rejected in another one, and reject each other for that moment: which of them are allowed depends on the
   * order of the answers of the slots, so that no oracle can say it. test/concurrency/else.spec.ts shows that they exceed no limit.
   */
  it.each([
    { where: 'in Redis, several at once', share: 0.4, isSpread: false },
    { where: 'in several slots of a Cluster, one by one', share: 0.2, isSpread: true },
  ])(
    '$where',
    async ({ share, isSpread }) => {
      let clock = new MovingClock(0, 0);
      const nodes = isSpread ? await several.cluster.masters() : [];
      for (const node of nodes) await loadPrograms(node.client);
      const client = isSpread ? several.client : redis.client;
      const store = new RedisStore(client, { clock: () => clock.now, maxSkew: 0 });
      if (isSpread) await untilByNode(store, nodes);
      const options = { store, denialCache: 0, deadline: '10s' } as const;
      const law = fc.asyncProperty(historiesOfRows, async (history) => {
        fc.pre(!isSpread || !isFast(history));
        for (const { client: server } of isSpread ? nodes : [redis]) await server.flushdb();
        clock = new MovingClock(history.start, 0);
        const ask = isSpread ? oneByOne : atOnce;
        await expectTheOracles(history, { options, clock, ask, together: !isSpread, isSpread });
      });
      await fc.assert(law, histories(share));
    },
    HISTORY_TIMEOUT_MS,
  );
});
