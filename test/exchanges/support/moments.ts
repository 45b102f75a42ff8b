import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { type Outcome, RateLimiter } from 'nestjs-floodgate';
import { until } from '../../support/faults/until.js';
import { LONG } from '../../support/long.js';
import { nodeWarnings, unhandledRejections } from '../../support/node-warnings.js';
import { useRedis } from '../../support/redis-fixture.js';
import { RateLimitRuntime } from '../../support/runtime.js';
import { COUNTED, CROWD, FINAL_COST, optionsWith, PLACES, QUEUE, SETTLED, stage } from './stage.js';
import { describeUnanswered } from './unanswered.js';
import { storeOf, type StoreKind, type TimedStore } from './stores.js';
import {
  BEFORE_THE_STORE,
  BY_WAY,
  type Client,
  type Ending,
  type Held,
  INSIDE,
  KEEPING,
  type Moment,
  MOMENTS,
  type Sent,
  type Served,
  type Transport,
  type Way,
} from './transport.js';

const CLIENTS = LONG ? 50 : 8;
const LIMIT_MS = 30_000;
/** How long a test waits for what may be missing. */
const ENDED_MS = 10_000;

/** What a test found, and what would be right. */
interface Compared {
  readonly found: object;
  readonly expected: object;
}

/** What the store has left. */
interface Levels {
  readonly places: number;
  readonly counted: number;
  readonly settled: number;
}

/**
 * The suite of moments: a client leaves at each, in each way, and nothing of its request is left.
 *
 * @param stores a release and a refund go to the store by one way, whatever transport they come from: one has both stores
 */
export function describeMoments(transport: Transport, stores: readonly StoreKind[] = ['memory']): void {
  describe.each(stores)(`over ${transport.name}, with %s, nothing is left of a client that leaves`, (kind) => {
    const redis = kind === 'Redis' ? useRedis() : undefined;
    let warned: () => Promise<string[]>;
    let rejected: () => Promise<unknown[]>;
    beforeEach(() => {
      stage.reset(transport.value);
      [warned, rejected] = [nodeWarnings(), unhandledRejections()];
    });
    afterEach(async () => {
      for (const gate of Object.values(stage.gates)) gate.open();
      const warnings = (await warned()).filter((line) => transport.noise?.test(line) !== true);
      const troubles = [...warnings, ...(await rejected())];
      if (troubles.length > 0) throw new Error(troubles.map(String).join('\n'));
    });

    for (const [moment, { title }] of Object.entries(MOMENTS) as [Moment, Held][]) {
      for (const way of transport.ways) {
        // A client that stays leaves at no moment: what counts is that its answer ends the request.
        if (way === 'stays' && moment !== 'answer') continue;
        if (!LONG && INSIDE.includes(moment) && stores.length === 1) continue;
        if (!LONG && !BY_WAY.includes(moment) && way !== transport.ways[0]) continue;
        const why = transport.without[moment] ?? transport.without[`${moment} by ${way}`];
        if (why !== undefined) {
          // oxlint-disable-next-line jest/no-disabled-tests, jest/expect-expect -- the title says why
          it.skip(`${title}, by ${way}: ${why}`, () => {});
          continue;
        }
        it(`${title}, by ${way}`, async () => {
          const { found, expected } = await new Scene(transport, moment, way).play(redis?.server.url);
          expect(found).toEqual(expected);
        });
      }
    }
    if (LONG || stores.length > 1) describeUnanswered(transport, CLIENTS, () => redis?.server.url);
  });
}

/** One moment of one transport. */
class Scene {
  private readonly held: Held;
  private readonly count = CLIENTS;
  private served!: Served;
  private store!: TimedStore;
  /** The leases of running requests, while their clients are there. */
  private leasesHeld: number | undefined;
  /** What was found before a handler ended whose client had left. */
  private atOnce: object | undefined;

  constructor(
    private readonly transport: Transport,
    private readonly moment: Moment,
    private readonly way: Way,
  ) {
    this.held = MOMENTS[moment];
  }

  async play(url: string | undefined): Promise<Compared> {
    const { transport, moment, held } = this;
    const client = url === undefined ? undefined : new Redis(url);
    try {
      this.store = storeOf(client, moment === 'store');
      await using served = await transport.open(optionsWith(this.store), held.work);
      this.served = served;
      return await this.leave(served);
    } finally {
      for (const gate of Object.values(stage.gates)) gate.open();
      await client?.quit();
    }
  }

  private async leave(served: Served): Promise<Compared> {
    const { held, moment, way, count, transport } = this;
    const clients: Client[] = [];
    for (let i = 0; i < count; i++) clients.push(await served.client(way));
    if (moment === 'queue') await served.app.get(RateLimiter).consume(QUEUE, CROWD);
    await until('what came before has ended', LIMIT_MS, () => stage.settled.length === stage.charged && this.isFree());
    const before = await this.levels();
    const [listeners, departed] = [served.listeners(), served.departed()];
    stage.forget();

    const gate = held.place && stage.gates[held.place];
    gate?.close();
    const sent = clients.map((client) => client.send(held.work));
    await this.untilHeld(sent, (i) => clients[i]!.leave(way));
    if (['handler', 'stream'].includes(moment)) this.leasesHeld = PLACES.limit - (await this.levels()).places;
    if (moment !== 'answer') for (const client of clients) client.leave(way);
    if (way !== 'stays' && !(moment === 'answer' && transport.leavesUnseen?.includes(way) === true)) {
      await until('the server has seen all leave', LIMIT_MS, () => served.departed() - departed >= count);
    }
    // The client's end is the request's, whatever the handler still does.
    if (this.endsAtOnce) {
      await this.untilEnded(before);
      this.atOnce = { endings: stage.settled.length, ...(await this.levels()) };
    }
    gate?.open();
    await this.untilEnded(before);
    await this.quiet();
    return this.left(before, listeners);
  }

  private async untilHeld(sent: readonly Sent[], leave: (i: number) => void): Promise<void> {
    const { served, moment, held, count } = this;
    if (moment === 'answer') {
      await Promise.all(sent.map(({ done }, i) => done.then(() => leave(i))));
      return;
    }
    await Promise.all(sent.map(async ({ ready }) => ready));
    if (moment === 'stream') await Promise.all(sent.map(({ first }) => first));
    const room = served.app.get(RateLimitRuntime).parts.waitingRoom;
    const isHeld = (): number => (held.place === undefined ? room.size : stage.gates[held.place].arrived);
    await until(`all are held (${this.moment})`, LIMIT_MS, () => isHeld() === count).catch((error: unknown) => {
      throw new Error(`${isHeld()} of ${count} are held`, { cause: error });
    });
  }

  /** Whether the request of a client that has left ends before its handler. */
  private get endsAtOnce(): boolean {
    const { moment, transport, way } = this;
    return ['handler', 'stream'].includes(moment) && transport.endsWithHandler?.includes(way) !== true;
  }

  /** Waits for what has to be in the end; the exact comparison comes after it. */
  private async untilEnded(before: Levels): Promise<void> {
    await until('the requests have ended', ENDED_MS, async () => {
      const { charged, counted, judged, settled } = stage;
      if (judged !== this.count) return false;
      return counted.length >= charged && settled.length >= charged && this.isFree() && this.isSettled(before);
    }).catch(() => {}); // what is missing shows in the comparison
  }

  private isFree(): boolean {
    const { leases, waitingRoom } = this.served.app.get(RateLimitRuntime).parts;
    return leases.size === 0 && waitingRoom.size === 0 && waitingRoom.places === 0;
  }

  private async isSettled(before: Levels): Promise<boolean> {
    return JSON.stringify(await this.levels()) === JSON.stringify(this.expectedLevels(before));
  }

  /** Lets what would come too often come. */
  private async quiet(): Promise<void> {
    for (let i = 0; i < 20; i++) await turn();
    await this.levels();
    for (let i = 0; i < 20; i++) await turn();
  }

  private async levels(): Promise<Levels> {
    const limiter = this.served.app.get(RateLimiter);
    const [places, counted, settled] = await Promise.all(
      [PLACES, COUNTED, SETTLED].map(async (policy) => (await limiter.peek(policy, CROWD)).policies[0]!.remaining),
    );
    return { places: places!, counted: counted!, settled: settled! };
  }

  private expectedLevels(before: Levels): Levels {
    return {
      places: PLACES.limit,
      counted: before.counted - stage.counted.filter(({ aborted }) => aborted).length,
      settled: before.settled - stage.charged * FINAL_COST,
    };
  }

  /** What is left, and what has to be. */
  private async left(before: Levels, listeners: number): Promise<Compared> {
    const { served, moment, count, transport, way, store } = this;
    const { leases, waitingRoom } = served.app.get(RateLimitRuntime).parts;
    const charged = BEFORE_THE_STORE.includes(moment) ? stage.charged : count;
    const endings = charged === 0 ? [] : [expect.objectContaining(transport.ending(moment, way))];
    store.timers.upkeep();
    const keeps = KEEPING.includes(way);
    if (keeps) await until('no listener is left', ENDED_MS, () => served.listeners() === listeners).catch(() => {});
    const found = {
      judged: stage.judged,
      charged: stage.charged,
      leasesHeld: this.leasesHeld,
      atOnce: this.atOnce,
      handlersOfWaiting: moment === 'queue' ? stage.entered : 0,
      leases: leases.size,
      waiting: waitingRoom.size,
      places: waitingRoom.places,
      timers: store.timers.size,
      listeners: keeps ? served.listeners() : listeners,
      levels: await this.levels(),
      countIf: { calls: stage.counted.length, endings: different(stage.counted) },
      settle: { calls: stage.settled.length, endings: different(stage.settled) },
      errors: served.logs.of('error').filter((line) => transport.noise?.test(line) !== true),
    };
    const expected = {
      judged: count,
      charged,
      leasesHeld: ['handler', 'stream'].includes(moment) ? count : undefined,
      atOnce: this.endsAtOnce ? { endings: charged, ...this.expectedLevels(before) } : undefined,
      handlersOfWaiting: 0,
      leases: 0,
      waiting: 0,
      places: 0,
      timers: 0,
      listeners,
      levels: this.expectedLevels(before),
      countIf: { calls: charged, endings },
      settle: { calls: charged, endings },
      errors: [],
    };
    return { found, expected };
  }
}

/** One of each kind of endings, whatever their durations. */
function different(endings: readonly Outcome[]): Ending[] {
  const kinds = endings.map(({ status, value, error, durationMs, aborted }): Ending => {
    if (!(durationMs >= 0)) throw new Error(`An ending's durationMs is ${durationMs}`);
    return { status, value: plain(value), error, aborted };
  });
  return [...new Map(kinds.map((one) => [JSON.stringify({ ...one, error: String(one.error) }), one])).values()];
}

/** A value without what a comparison cannot read, such as a generator. */
function plain(value: unknown): unknown {
  const tag = Object.prototype.toString.call(value);
  return tag === '[object Object]' || Object(value) !== value ? value : tag;
}
