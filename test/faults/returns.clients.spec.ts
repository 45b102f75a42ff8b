import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { Controller, Get } from '@nestjs/common';
import { expect, it } from '@jest/globals';
import { type Lease, type Policy, RateLimit, RateLimiter, type Reservation } from 'nestjs-floodgate';
import { useOneRedis } from '../support/faults/one-redis.js';
import { ADA, type Pod } from '../support/faults/pod.js';
import { FROM_HEADERS, limited } from '../support/http-app.js';
import { until } from '../support/faults/until.js';

const LIMIT_MS = 20_000;
/** Between two slots: so long that none passes during a test. */
const SLOT_MS = 60_000;
const on = useOneRedis();
const policies = {
  places: { algorithm: 'concurrency', limit: 5, lease: '10m' },
  budget: { algorithm: 'fixed-window', limit: 1_000, window: '300d' },
  expiring: {
    algorithm: 'fixed-window',
    limit: 1_000,
    window: '300d',
    cost: 100,
    expires: '1h',
    settle: ({ value }) => value as number,
  },
  slots: { algorithm: 'leaky-bucket', capacity: 1_000, drain: '1/m' },
} as const satisfies Record<string, Policy>;
const WHOLE = { places: 5, budget: 1_000 };

@Controller()
class Line {
  @Get()
  @RateLimit({ name: 'places', scope: 'app', ...policies.places }, { name: 'slots', scope: 'app', ...policies.slots })
  ask(): void {}
}

/** @param deadline by default so long that Redis decides, on a busy machine as well */
async function start(deadline = 1_000): Promise<Pod> {
  const pod = await on.start({ redis: on.proxy.url, policies, deadline });
  await pod.recovered();
  return pod;
}

/** Half of the budget. */
const reserve = ({ limiter }: Pod, options: { expires?: string }): Promise<Reservation[]> =>
  Promise.all(Array.from({ length: 5 }, async () => limiter.reserve('budget', ADA, { cost: 100, ...options })));

/** Takes all places, and half of the budget. @returns `end` gives all of it back */
async function take(pod: Pod): Promise<{ readonly leases: readonly Lease[]; readonly end: () => void }> {
  const { limiter } = pod;
  const leases = await Promise.all(Array.from({ length: 5 }, async () => limiter.acquire('places', ADA)));
  const reservations = await reserve(pod, {});
  for (const { decision } of [...leases, ...reservations]) expect(decision.decidedBy).toBe('store');
  await until('they are whole leases', LIMIT_MS, async () => {
    const ttls = await Promise.all((await on.admin.keys('rl:{user:ada}*')).map((key) => on.admin.pttl(key)));
    return ttls.every((ms) => ms > 60_000);
  });
  await left(pod); // answers come in order: the process knows by now that they are whole
  const end = (): void => {
    for (const lease of leases) lease.release();
    for (const reservation of reservations) void reservation.cancel();
  };
  return { leases, end };
}

/** What Redis has left. */
async function left({ limiter }: Pod): Promise<object> {
  const [places, budget] = await Promise.all(
    ['places', 'budget'].map((name) =>
      until('Redis answers', LIMIT_MS, async () => {
        const { decidedBy, policies: rows } = await limiter.peek(name, ADA);
        return decidedBy === 'store' && { left: rows[0]!.remaining };
      }),
    ),
  );
  return { places: places!.left, budget: budget!.left };
}

async function expectLeft(pod: Pod, wanted: object): Promise<void> {
  const isSo = async (): Promise<boolean> => JSON.stringify(await left(pod)) === JSON.stringify(wanted);
  await until('all is given back', LIMIT_MS, isSo).catch(() => undefined); // the comparison shows what is missing
  expect(await left(pod)).toEqual(wanted);
}

it('what ends while the breaker is open is given back once Redis answers again', async () => {
  const pod = await start();
  const { end } = await take(pod);
  const two = await pod.limiter.reserve(['slots', 'budget'], ADA);
  await on.proxy.refuse();
  await until('the breaker is open', LIMIT_MS, () => on.changes.at(-1)?.available === false);
  end();
  void two.cancel();
  await on.proxy.pass();
  await expectLeft(pod, WHOLE);
  expect((await pod.limiter.peek('slots', ADA)).delayMs).toBe(0);
});

it('what ends while Redis hangs, after the breaker has opened, is given back once', async () => {
  const pod = await start();
  const { end } = await take(pod);
  on.server.pause();
  await until('the breaker is open', LIMIT_MS, async () => {
    await pod.ask();
    return on.changes.at(-1)?.available === false;
  });
  end();
  on.server.resume();
  await expectLeft(pod, WHOLE);
});

it('what Redis refuses too late, because it has lost the script, is given back', async () => {
  const pod = await start(400);
  const { end } = await take(pod);
  await on.admin.script('FLUSH');
  on.proxy.delay(250); // in each direction
  end();
  await until('its answers are late', LIMIT_MS, async () => {
    await pod.ask();
    return on.changes.at(-1)?.available === false;
  });
  await on.proxy.pass();
  await expectLeft(pod, WHOLE);
});

it('what Redis has run is not given back twice, though the answer is lost', async () => {
  const pod = await start();
  const { leases } = await take(pod); // in one batch: they end in the same microsecond
  on.proxy.cut({ containing: 'places' });
  leases[0]!.release();
  await until('the answer is lost', LIMIT_MS, () => on.proxy.cuts === 1);
  await on.proxy.pass();
  await expectLeft(pod, { places: 1, budget: 500 });
  // It is sent after whatever would be sent again.
  leases[1]!.release();
  await expectLeft(pod, { places: 2, budget: 500 });
});

it.each(['settled', 'expired'])('a reservation is %s once, though the answer to its claim is lost', async (how) => {
  const pod = await start(5_000);
  const expires = how === 'settled' ? '1h' : '300ms';
  const reservations = await reserve(pod, { expires });
  await until('the log has them', LIMIT_MS, async () => {
    const keys = await on.admin.keys('rl:{reservations-*');
    return (
      (await Promise.all(keys.map((key) => on.admin.zcount(key, 0, '+inf')))).reduce((sum, count) => sum + count, 0) ===
      5
    );
  });
  on.proxy.cut({ containing: 'claim' });
  if (how === 'settled') await Promise.all(reservations.map(async (one) => one.settle(60)));
  await until('the answer is lost', LIMIT_MS, () => on.proxy.cuts === 1);
  await on.proxy.pass();
  await expectLeft(pod, { places: 5, budget: how === 'settled' ? 700 : 1_000 });
});

it.each([
  ['at once', 1_000, 0],
  ['too late', 400, 250],
])(
  'what ends before the application closes is given back, also to a Redis that says %s that it has lost the script',
  async (_, deadline, ms) => {
    const pod = await start(deadline);
    const { end } = await take(pod);
    await on.admin.script('FLUSH');
    if (ms > 0) on.proxy.delay(ms); // in each direction
    end();
    await pod.app.close();
    await on.proxy.pass();
    await expectLeft(await start(), WHOLE);
  },
);

it.each(['settled', 'expired'])(
  'a reservation whose claim is under way when the application closes is %s',
  async (how) => {
    const pod = await start(5_000);
    const expires = how === 'settled' ? '1h' : '20ms';
    const reservations = await reserve(pod, { expires });
    if (how === 'settled') for (const one of reservations) void one.settle(60);
    else await until('the first one has expired', LIMIT_MS, () => pod.limiter.stats().reservations.open < 5);
    await pod.app.close();
    const next = await start();
    await next.limiter.reserve('budget', { kind: 'user', value: 'bob' }, { cost: 1, expires: '1h' }); // from now on it sweeps
    await expectLeft(next, { places: 5, budget: how === 'settled' ? 700 : 1_000 });
  },
);

it('a call that ends while the application closes is settled, and frees its place', async () => {
  const pod = await start(5_000);
  let end!: (cost: number) => void;
  const ended = new Promise<number>((resolve) => (end = resolve));
  const calls = [
    pod.limiter.schedule('budget', ADA, () => ended, { estimate: 100, cost: async (value) => delay(20, value) }),
    pod.limiter.schedule('expiring', ADA, () => ended),
    pod.limiter.schedule('places', ADA, () => undefined, { until: () => ended }),
  ];
  const names = ['budget', 'expiring', 'places'];
  await until('all of them run', LIMIT_MS, async () => {
    const decisions = await Promise.all(names.map(async (name) => pod.limiter.peek(name, ADA)));
    return decisions.map(({ policies: rows }) => rows[0]!.remaining).join() === '900,900,4';
  });
  on.proxy.delay(3); // in each direction
  const closed = pod.app.close();
  await delay(50);
  end(10);
  await Promise.all([...calls, closed]);
  await on.proxy.pass();
  const next = await start();
  await expectLeft(next, { places: 5, budget: 990 });
  expect((await next.limiter.peek('expiring', ADA)).policies[0]!.remaining).toBe(990);
});

it('the slots of calls that wait are given back when the application closes', async () => {
  const pod = await start();
  const calls = Array.from({ length: 1_000 }, async () =>
    pod.limiter.schedule('slots', ADA, () => undefined, { maxWait: Infinity }),
  );
  const ended = Promise.allSettled(calls);
  await until('all of them wait', LIMIT_MS, () => pod.limiter.stats().scheduled[0]?.waiting === 999);
  on.proxy.delay(1); // in each direction
  await pod.app.close();
  expect((await ended).filter(({ status }) => status === 'rejected')).toHaveLength(999);
  await on.proxy.pass();
  const { decidedBy, delayMs } = await (await start()).limiter.consume('slots', ADA);
  expect(decidedBy).toBe('store');
  expect(delayMs).toBeLessThanOrEqual(SLOT_MS);
});

it('the slots of calls that wait in several applications are given back when these close at once', async () => {
  const pods = [await start(), await start(), await start()];
  for (let i = 0; i < 20; i++) {
    for (const { limiter } of pods) {
      limiter.schedule('slots', ADA, () => undefined, { maxWait: Infinity }).catch(() => undefined);
      await limiter.peek('slots', ADA); // the next one stands behind it
    }
  }
  expect((await pods[0]!.limiter.peek('slots', ADA)).delayMs).toBeGreaterThan(50 * SLOT_MS);
  await Promise.all(pods.map(async ({ app }) => app.close()));
  expect((await (await start()).limiter.peek('slots', ADA)).delayMs).toBeLessThanOrEqual(SLOT_MS);
});

it('slots that were granted in time and too late come back together when the application closes', async () => {
  const pod = await start(500);
  const waitFor = async (count: number): Promise<void> => {
    const calls = Array.from({ length: 20 }, async () =>
      pod.limiter.schedule('slots', ADA, () => undefined, { maxWait: Infinity }),
    );
    for (const call of calls) call.catch(() => undefined);
    await until('all of them wait', LIMIT_MS, () => pod.limiter.stats().scheduled[0]?.waiting === count);
  };
  expect((await pod.limiter.consume('slots', ADA)).decidedBy).toBe('store'); // Redis knows the program
  await waitFor(20);
  on.server.pause();
  const late = Array.from({ length: 20 }, async () => pod.limiter.consume('slots', ADA));
  for (const { decidedBy } of await Promise.all(late)) expect(decidedBy).toBe('local');
  const others = waitFor(40);
  await delay(20); // they reach the socket of Redis behind the late ones
  on.server.resume();
  await others;
  expect((await pod.limiter.peek('slots', ADA)).delayMs).toBeGreaterThan(50 * SLOT_MS);
  await pod.app.close();
  expect((await (await start()).limiter.peek('slots', ADA)).delayMs).toBeLessThanOrEqual(SLOT_MS);
});

it('what Redis grants to questions that are under way when the application closes is given back', async () => {
  const app = await limited('Express', Line, {
    redis: on.proxy.url,
    deadline: 5_000,
    identity: FROM_HEADERS,
    policies,
  });
  const other = await on.start({ policies, redis: on.server.url });
  const limiter = app.app.get(RateLimiter);
  expect((await limiter.consume('slots', ADA)).decidedBy).toBe('store'); // Redis knows the program
  const leftNow = async (): Promise<object> => ({
    ...(await left(other)),
    waits: (await other.limiter.peek('slots', ADA)).delayMs > SLOT_MS,
  });
  on.proxy.delay(100); // in each direction
  const calls = Array.from({ length: 8 }, async () => limiter.schedule('slots', ADA, () => undefined));
  const held = Array.from({ length: 2 }, async () => limiter.schedule(['places', 'slots'], ADA, () => undefined));
  const gone = Array.from({ length: 3 }, () => {
    const socket = connect(app.port, '127.0.0.1');
    socket.write('GET / HTTP/1.1\r\nHost: x\r\nX-User-Id: ada\r\n\r\n');
    return socket;
  });
  await until(
    'Redis has granted all',
    LIMIT_MS,
    async () => JSON.stringify(await leftNow()) === JSON.stringify({ places: 0, budget: 1_000, waits: true }),
  );
  for (const socket of gone) socket.destroy();
  const ended = Promise.allSettled([...calls, ...held]);
  await app.close();
  expect((await ended).map(({ status }) => status)).not.toContain('fulfilled');
  expect(await leftNow()).toEqual({ ...WHOLE, waits: false });
});
