import { once } from 'node:events';
import type { Server } from 'node:http';
import { type AddressInfo, createConnection, type Socket } from 'node:net';
import { Controller, Get, type INestApplication, Param } from '@nestjs/common';
import { afterEach, beforeEach } from '@jest/globals';
import { type LeakyBucketPolicy, MemoryStore, RateLimit, type RateLimitStore } from 'nestjs-floodgate';
import type { Charge, Verdict } from 'nestjs-floodgate/testing';
import { until } from '../../support/faults/until.js';
import { nodeWarnings } from '../../support/node-warnings.js';
import { RateLimitRuntime } from '../../support/runtime.js';

/** The first request passes at once. All others wait longer than a test takes. */
export const CLIENT: LeakyBucketPolicy = { name: 'client', algorithm: 'leaky-bucket', capacity: 1_000, drain: '1/h' };
const TIGHT: LeakyBucketPolicy = { ...CLIENT, name: 'tight', capacity: 2 };
export const ALL: LeakyBucketPolicy = { ...CLIENT, name: 'all', by: 'global' };

const LIMIT_MS = 10_000;

/** The handlers that have run in the current test. */
export const entered: string[] = [];

@Controller()
export class WaitingRoutes {
  @Get('client/:id')
  @RateLimit(CLIENT)
  client(@Param('id') id: string): void {
    entered.push(id);
  }

  @Get('tight')
  @RateLimit(TIGHT)
  tight(): void {
    entered.push('tight');
  }

  @Get('all')
  @RateLimit(ALL)
  all(): void {
    entered.push('all');
  }

  @Get('beside')
  beside(): void {}
}

/** Waits until a sent request has had this effect. */
export async function untilHolds(holds: () => boolean): Promise<void> {
  await until(String(holds), LIMIT_MS, holds);
}

export interface Room {
  readonly size: number;
  readonly places: number;
}

export function roomOf(app: INestApplication): Room {
  return app.get(RateLimitRuntime).parts.waitingRoom;
}

export function serverOf(app: INestApplication): Server {
  return app.getHttpServer() as Server;
}

/** Opens a connection that sends only the text that a test writes. */
export async function dial(app: INestApplication): Promise<Socket> {
  const socket = createConnection((serverOf(app).address() as AddressInfo).port, '127.0.0.1');
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

export function requestFor(path: string, user: string): string {
  return `GET ${path} HTTP/1.1\r\nHost: x\r\nX-User-Id: ${user}\r\n\r\n`;
}

/** A `MemoryStore` that answers when the test calls `answer`. */
export class SlowStore implements RateLimitStore {
  asked = 0;
  private readonly inner = new MemoryStore();
  private answers: (() => void)[] = [];

  consume(charges: readonly Charge[]): Promise<Verdict> {
    this.asked++;
    return new Promise((resolve) => this.answers.push(() => resolve(this.inner.consume(charges))));
  }

  answer(): void {
    for (const answer of this.answers.splice(0)) answer();
  }

  reset(): void {}
}

/** Empties the records before each test of a file, and fails a test that causes a warning of Node. */
export function useWaitingRoutes(): void {
  let warned: () => Promise<string[]>;

  beforeEach(() => {
    entered.length = 0;
    warned = nodeWarnings();
  });

  afterEach(async () => {
    const warnings = await warned();
    if (warnings.length > 0) throw new Error(warnings.join('\n'));
  });
}
