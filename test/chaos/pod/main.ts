import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { RateLimiter } from 'nestjs-floodgate';
import { Lookups } from '../../support/faults/hanging-lookups.js';
import { randomOf } from '../../support/random.js';
import { now, StallMeter } from '../clock.js';
import type { ChaosClient } from '../options.js';
import { compute, PodModule, Work } from './application.js';
import { type Asked, asking, Recorder } from './recorder.js';
import { DirectTraffic } from './traffic.js';

/** The settings of a pod: JSON in the environment variable `CHAOS_POD`. */
export interface PodSettings {
  readonly name: string;
  readonly platform: 'Express' | 'Fastify';
  readonly redisPort: number;
  readonly client: ChaosClient;
  readonly history: string;
  readonly seed: number;
}

/** The commands that a running pod accepts. */
export type Order =
  | { readonly ask: true }
  | { readonly compute: number; readonly phase?: 'under way' }
  | { readonly handlersCompute: number }
  | { readonly clockAhead: number }
  | { readonly lookups: 'hang' | 'return' }
  | { readonly heap: true };

const RELEASE_MS = 10;
/** The process closes its connections so long after SIGTERM. Idle ones and incomplete requests would keep it from ending. */
const GRACE_MS = 500;

const settings = JSON.parse(process.env['CHAOS_POD']!) as PodSettings;
const recorder = new Recorder(settings.history);
const lookups = new Lookups();

process.on('unhandledRejection', (error) => {
  recorder.wrong(`unhandled rejection: ${error instanceof Error ? error.stack : String(error)}`);
  process.exit(70);
});
process.on('uncaughtExceptionMonitor', (error) => recorder.wrong(`uncaught exception: ${error.stack}`));
process.on('warning', (warning) => {
  if (warning.name !== 'ExperimentalWarning') recorder.wrong(`warning: ${warning.name}: ${warning.message}`);
});
process.once('disconnect', () => process.exit());

const say =
  (level: string) =>
  (...parts: unknown[]): void =>
    recorder.add({ kind: 'logs', at: now(), level, text: parts.map(String).join(' ') });
const logger = { log: say('log'), warn: say('warn'), error: say('error'), fatal: say('fatal') };

const root = PodModule.of({
  redisPort: settings.redisPort,
  client: settings.client,
  recorder,
});
const adapter = settings.platform === 'Express' ? new ExpressAdapter() : new FastifyAdapter();
const app: INestApplication = await NestFactory.create(root, adapter, { logger, abortOnError: false });
app.enableShutdownHooks();
const server = app.getHttpServer() as Server;
// A connection must not time out while a client reuses it.
server.keepAliveTimeout = 600_000;
server.prependListener('request', ({ headers, url = '' }) => {
  const asked: Asked = {
    id: String(headers['x-request-id']),
    what: url,
    user: String(headers['x-user-id'] ?? ''),
    address: String(headers['x-source']),
    cost: 1,
  };
  recorder.asked(asked);
  asking.enterWith(asked);
});
process.once('SIGTERM', () => setTimeout(() => server.closeAllConnections(), GRACE_MS));

const random = randomOf(settings.seed);
const traffic = new DirectTraffic(settings.name, app.get(RateLimiter), recorder, random);
// Before Nest's own listener, which closes the application.
process.prependOnceListener('SIGTERM', () => traffic.end());
/** The moments at which a stall can begin: before the calls are sent, while they are sent, and afterwards. */
const PHASES: readonly ((task: () => void) => unknown)[] = [
  (task) => task(),
  (task) => process.nextTick(task),
  (task) => setImmediate(task),
  (task) => setImmediate(() => setImmediate(task)),
  (task) => setTimeout(task, 1),
];

process.on('message', (order: Order) => {
  if ('ask' in order) traffic.askSome();
  else if ('compute' in order) {
    // A stall matters while calls wait for answers.
    traffic.askSome();
    const phase = order.phase === 'under way' ? setImmediate : PHASES[random(PHASES.length)]!;
    phase(() => compute(order.compute));
  } else if ('handlersCompute' in order) app.get(Work).busyMs = order.handlersCompute;
  else if ('clockAhead' in order) setClock(order.clockAhead);
  else if ('lookups' in order) {
    if (order.lookups === 'hang') lookups.hang();
    else release();
  } else collect();
});

/** Changes the clock of `Date` in this process. C code still reads the machine's clock. */
const { now: dateNow } = Date;
function setClock(aheadMs: number): void {
  Date.now = () => dateNow() + aheadMs;
}

function collect(): void {
  globalThis.gc!();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  recorder.add({ kind: 'heaps', at: now(), bytes: heapUsed + arrayBuffers });
}

/** Again and again, for lookups that have not begun to hang yet. */
function release(): void {
  lookups.release();
  if (lookups.inFlight > 0) setTimeout(release, RELEASE_MS);
}

const meter = new StallMeter((stall) => recorder.add({ kind: 'stalls', ...stall }));
process.once('exit', () => {
  meter.stop();
  recorder.flush();
});
await app.listen(0, '127.0.0.1');
process.send!({ port: (server.address() as AddressInfo).port });
void traffic.run();
