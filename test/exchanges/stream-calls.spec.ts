import type { ServerDuplexStream } from '@grpc/grpc-js';
import { credentials, loadPackageDefinition, status } from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { Controller } from '@nestjs/common';
import { GrpcStreamCall } from '@nestjs/microservices';
import { expect, it, jest } from '@jest/globals';
import { type ConcurrencyPolicy, RateLimit, RateLimiter, RateLimitModule } from 'nestjs-floodgate';
import { GrpcApp, PROTO } from '../contexts/support/grpc-app.js';
import { until } from '../support/faults/until.js';
import { RateLimitRuntime } from '../support/runtime.js';

jest.setTimeout(60_000);

const LIMIT_MS = 20_000;
const IP = { kind: 'ip', value: '127.0.0.1' } as const;
/** Its leases outlive the test. */
const TWO: ConcurrencyPolicy = { name: 'two', algorithm: 'concurrency', limit: 2, lease: '1h', scope: 'app' };

interface Trip {
  readonly km: number;
}

@Controller()
class Rides {
  /** Returns at once. The call ends with its client's requests. */
  @GrpcStreamCall()
  @RateLimit(TWO)
  raw(call: ServerDuplexStream<Trip, { cents: number }>): void {
    call.on('data', ({ km }: Trip) => call.write({ cents: km }));
    call.on('end', () => call.end());
  }
}

interface Call {
  on(event: string, listener: (value: never) => void): this;
  write(trip: Trip): void;
  end(): void;
  cancel(): void;
}

it('holds a lease of a call that its handler answers itself until the call ends, and not until the handler returns', async () => {
  await using app = await GrpcApp.start({ imports: [RateLimitModule.forRoot()], controllers: [Rides] });
  const { rides } = loadPackageDefinition(loadSync(PROTO)) as unknown as {
    rides: { Rides: new (...args: unknown[]) => { raw(): Call; close(): void } };
  };
  const client = new rides.Rides(app.url, credentials.createInsecure());
  using _ = { [Symbol.dispose]: () => client.close() };
  const places = async (): Promise<number> => (await app.app.get(RateLimiter).peek(TWO, IP)).policies[0]!.remaining;
  const answered: Call[] = [];
  const codes: number[] = [];
  const begin = (): void => {
    const call = client.raw();
    call.on('data', () => answered.push(call));
    call.on('error', ({ code }: { code: number }) => codes.push(code));
    call.write({ km: 1 });
  };
  for (let i = 0; i < 10; i++) begin();
  await until('all are decided', LIMIT_MS, () => answered.length + codes.length === 10);
  expect([answered.length, codes]).toEqual([2, Array<number>(8).fill(status.RESOURCE_EXHAUSTED)]);
  expect(await places()).toBe(0);
  answered.shift()!.end();
  await until('a place is free', LIMIT_MS, async () => (await places()) === 1);
  begin();
  await until('the next one lives', LIMIT_MS, () => answered.length === 2);
  expect(await places()).toBe(0);
  for (const call of answered) call.cancel();
  await until('all places are free', LIMIT_MS, async () => (await places()) === 2);
  expect(app.app.get(RateLimitRuntime).leases.size).toBe(0);
});
