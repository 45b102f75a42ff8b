// What a failover of Redis admits beyond the limit: npm run bench:failover [-- --json --smoke]. See README.md.
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { conclude, readCommonOptions } from './command.js';
import { late, openLimiter, passed } from './floodgate.js';
import { verify } from './measure.js';
import { startProxy } from './proxy.js';
import { startRedis } from './redis.js';
import { render } from './table.js';

const given = readCommonOptions('npm run bench:failover');

/** Requests a second, and by how many milliseconds the replica gets the master's writes late. */
const CASES = given.smoke
  ? [{ rate: 200, lagMs: 100 }]
  : [200, 2_000].flatMap((rate) => [0, 100, 1_000].map((lagMs) => ({ rate, lagMs })));
/** The limit is what arrives in this time; the master dies after half of it. */
const LIMIT_MS = given.smoke ? 1_000 : 4_000;
/** As a Sentinel with `down-after-milliseconds 1000` would need, about. */
const DOWN_MS = 1_000;
const TICK_MS = 5;

/** How many requests more than the limit passed. The store alone decides: what it cannot decide is rejected. */
async function beyond({ rate, lagMs }) {
  const [master, replica] = [await startRedis(), await startRedis()];
  const link = await startProxy(master.port, lagMs);
  const door = await startProxy(master.port);
  const closing = [];
  try {
    await replica.admin.replicaof('127.0.0.1', link.port);
    while (!(await replica.admin.info('replication')).includes('master_link_status:up')) await delay(TICK_MS);
    const bench = { url: door.url, onClose: (close) => closing.unshift(close) };
    const limiter = await openLimiter(bench, { redis: bench.url, denialCache: 0 });
    const limit = (rate * LIMIT_MS) / 1000;
    const policy = { name: 'rides', algorithm: 'fixed-window', limit, window: '300d' };
    const ada = { kind: 'user', value: 'ada' };
    let admitted = 0;
    /** Whether the store has rejected the request. */
    const rejected = async () => {
      try {
        if (!passed(await limiter.consume(policy, ada))) return true;
        admitted++;
      } catch (error) {
        if (!late(error)) throw error;
      }
      return false;
    };
    // At their instants, whatever the machine does meanwhile.
    const began = performance.now();
    let sent = 0;
    const sendUntil = async (ms) => {
      while (performance.now() - began < ms) {
        for (const due = ((performance.now() - began) * rate) / 1000; sent < due; sent++) void rejected();
        await delay(TICK_MS);
      }
    };
    await sendUntil(LIMIT_MS / 2);
    const before = admitted;
    await master.crash();
    await Promise.all([
      sendUntil(LIMIT_MS / 2 + DOWN_MS),
      delay(DOWN_MS).then(async () => {
        await replica.admin.replicaof('NO', 'ONE');
        door.turnTo(replica.port);
      }),
    ]);
    // The store decides again, until it lets nothing more pass. While it does not, an answer takes no turn of the event loop.
    while (!(await rejected())) await nextTurn();
    verify(before > 0, 'no request passed before the failover');
    verify(admitted >= limit, `${admitted} of ${limit} requests passed`);
    return { rate, lagMs, limit, beyond: admitted - limit };
  } finally {
    for (const close of closing) await close();
    door.close();
    link.close();
    await Promise.all([master.stop().catch(() => {}), replica.stop()]);
  }
}

const rows = [];
const done = [];
const failed = [];
for (const one of CASES) {
  const name = `${one.rate}/s, ${one.lagMs} ms`;
  process.stderr.write(`${name} ...\n`);
  try {
    rows.push(await beyond(one));
    done.push(name);
  } catch (error) {
    failed.push({ name, error });
  }
}
if (!given.smoke) {
  const lines = rows.map((row) => [
    `${row.rate}/s`,
    `${row.lagMs} ms`,
    `${row.limit}`,
    `${row.beyond}`,
    `${(row.rate * row.lagMs) / 1000}`,
  ]);
  const head = ['requests', 'the replica is behind by', 'limit', 'admitted beyond it', 'requests in that time'];
  process.stdout.write(`${render({ title: 'A failover to a replica', head, lines })}\n`);
  if (given.json) process.stdout.write(`${JSON.stringify(rows)}\n`);
}
conclude({ passed: done, failed }, given);
