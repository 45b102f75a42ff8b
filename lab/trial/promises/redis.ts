import { setTimeout as sleep } from 'node:timers/promises';
import { type Asked, type Broken, clock } from '../run/asked.js';
import type { Pod } from '../run/pod.js';
import { burst, type Stage } from '../run/stage.js';
import { flood } from './limits.js';
import { type Attempts, unless } from './attempt.js';

const CLIENTS = 20;
/** Beyond what two windows mean. */
const EXPIRY_SLACK_MS = 2_000;
const ANSWER_MS = 1_000;
const RECOVERY_MS = 5_000;
const POLL_MS = 100;
const LIMIT = 5;

/**
 * Injures Redis, and asks meanwhile: each request gets an answer within a second, a verdict or an error. Afterwards the limiter
 * decides again within 5 s, in both processes together.
 *
 * @param heal ends the injury
 */
async function outage(
  stage: Stage,
  injure: () => unknown,
  heal: () => unknown,
  answers: boolean,
): Promise<Broken | undefined> {
  const pods = await stage.open(2, LIMIT);
  await burst(pods, stage.key(), 2);
  await injure();
  const asking = burst(pods, stage.key(), 4);
  const during = await Promise.race([asking, sleep(2 * ANSWER_MS, undefined)]);
  await heal();
  const history = during ?? (await asking);
  const late = history.filter(({ sent, answered, answer }) => answer === 'none' || answered - sent > ANSWER_MS);
  const dead = pods.find((pod) => pod.hasEnded);
  if (dead) return { why: `a process ended: ${lastLine(dead)}`, history };
  if (answers && late.length > 0) return { why: 'a request has no answer within a second', history: [late[0]!] };
  return recovery(stage, pods);
}

/** Waits until both processes decide, and keep the limit together. */
async function recovery(stage: Stage, pods: readonly Pod[]): Promise<Broken | undefined> {
  const end = clock() + RECOVERY_MS;
  for (;;) {
    const history = await burst(pods, stage.key(), pods.length);
    const why = '5 s after Redis is well again a request gets no verdict';
    const broken = unless(history, 'allowed', why) ?? (await flood(stage, pods, LIMIT, 64));
    if (broken === undefined || clock() > end) return broken;
    await sleep(POLL_MS);
  }
}

function lastLine(pod: Pod): string {
  return pod.output.split('\n').find((line) => /error/i.test(line)) ?? '';
}

export const REDIS = {
  expiry: async (stage) => {
    const [pod] = await stage.open(1, LIMIT);
    await pod!.ask(stage.key());
    const before = new Set(await stage.redis.keys('*'));
    const history: Asked[] = [];
    for (let i = 0; i < CLIENTS; i++) history.push(...(await pod!.ask(stage.key(), 1, 2)));
    for (const key of await stage.redis.keys('*')) {
      const left = await stage.redis.pttl(key);
      const lasts = left === -1 || left > 2 * stage.windowMs + EXPIRY_SLACK_MS;
      if (before.has(key) || !lasts) continue;
      const one = history.filter((asked) => key.includes(asked.key));
      return { why: `${key} expires ${left === -1 ? 'never' : `in ${left} ms`}`, history: one };
    }
    return undefined;
  },
  'script-flush': async (stage) => {
    const [pod] = await stage.open(1, 2);
    const key = stage.key();
    await stage.withinWindow();
    const history = await pod!.ask(key);
    await stage.redis.script('FLUSH');
    history.push(...(await pod!.ask(key)));
    await stage.redis.script('FLUSH');
    history.push(...(await burst([pod!], key, 2)));
    const answers = history.map(({ answer }) => answer).join();
    return answers === 'allowed,allowed,rejected,rejected' ? undefined : { why: 'after SCRIPT FLUSH', history };
  },
  restart: (stage) =>
    outage(
      stage,
      () => stage.server.kill(),
      () => stage.server.restart(),
      false,
    ),
  'read-only': (stage) =>
    outage(
      stage,
      () => stage.redis.call('REPLICAOF', '127.0.0.1', '1'),
      () => stage.redis.call('REPLICAOF', 'NO', 'ONE'),
      true,
    ),
  hung: (stage) =>
    outage(
      stage,
      () => stage.server.pause(),
      () => stage.server.resume(),
      true,
    ),
} as const satisfies Attempts;
