import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ServerDuplexStream, status } from '@grpc/grpc-js';
import { Controller, Inject } from '@nestjs/common';
import { GrpcMethod, GrpcStreamCall, GrpcStreamMethod } from '@nestjs/microservices';
import { describe, expect, it } from '@jest/globals';
import protobuf from 'protobufjs';
import { from, type Observable, of, reduce } from 'rxjs';
import {
  LimiterUnavailableError,
  type Policy,
  RateLimit,
  RateLimiter,
  RateLimitExceededException,
  RateLimitModule,
  type RateLimitModuleOptions,
} from 'nestjs-floodgate';
import { StillStore } from '../support/still-store.js';
import { type CallOutcome, GrpcApp, type GrpcClient } from './support/grpc-app.js';

const TWO = { name: 'two', algorithm: 'fixed-window', limit: 2, window: '1h' } as const satisfies Policy;

interface Trip {
  readonly km: number;
}

interface Price {
  readonly cents: number;
}

@Controller()
class Rides {
  @Inject(RateLimiter) private readonly limiter!: RateLimiter;

  @GrpcMethod()
  @RateLimit(TWO)
  quote({ km }: Trip): Price {
    return { cents: km * 100 };
  }

  @GrpcMethod()
  @RateLimit(TWO)
  follow(): Observable<Price> {
    return from([{ cents: 1 }, { cents: 2 }, { cents: 3 }]);
  }

  @GrpcStreamMethod()
  @RateLimit(TWO)
  total(trips: Observable<Trip>): Observable<Price> {
    return trips.pipe(reduce((sum, { km }) => ({ cents: sum.cents + km }), { cents: 0 }));
  }

  @GrpcStreamCall()
  @RateLimit(TWO)
  raw(call: ServerDuplexStream<Trip, Price>): void {
    call.on('data', ({ km }: Trip) => call.write({ cents: km }));
    call.on('end', () => call.end());
  }

  @GrpcMethod()
  async thrown(): Promise<Price> {
    const decision = await this.limiter.consume('mails', { kind: 'user', value: 'ada' });
    if (!decision.allowed) throw new RateLimitExceededException(decision);
    throw new LimiterUnavailableError('gone');
  }

  @GrpcMethod()
  @RateLimit({ ...TWO, by: () => undefined, onMissingIdentity: 'reject' })
  refused(): Observable<Price> {
    return of({ cents: 0 });
  }
}

const limitedWith = (options: RateLimitModuleOptions = {}) => ({
  imports: [
    RateLimitModule.forRoot({
      store: new StillStore(),
      policies: { mails: { algorithm: 'fixed-window', limit: 1, window: '1h' } },
      ...options,
    }),
  ],
  controllers: [Rides],
});

/** Both requests of a stream in one answer, and each of them in one of its own. */
const TOGETHER = { answers: [{ cents: 3 }] };
const EACH = { answers: [{ cents: 1 }, { cents: 2 }] };

const calls: readonly (readonly [string, (client: GrpcClient) => Promise<CallOutcome>, CallOutcome])[] = [
  ['quote', (client) => client.ask('Quote'), { answers: [{ cents: 200 }] }],
  ['follow', (client) => client.stream('Follow', 'one'), { answers: [{ cents: 1 }, { cents: 2 }, { cents: 3 }] }],
  ['total', (client) => client.gather('Total'), TOGETHER],
  ['raw', (client) => client.stream('Raw', 'two'), EACH],
];

/** google.rpc.Status with the details that a rejection has, as the public definitions have them. */
const RPC = protobuf.parse(`
  syntax = "proto3";
  package google.rpc;
  message Any { string type_url = 1; bytes value = 2; }
  message Status { int32 code = 1; string message = 2; repeated Any details = 3; }
  message ErrorInfo { string reason = 1; string domain = 2; map<string, string> metadata = 3; }
  message Duration { int64 seconds = 1; int32 nanos = 2; }
  message RetryInfo { Duration retry_delay = 1; }
`).root;

function decoded(type: string, bytes: Uint8Array): Record<string, unknown> {
  const found = RPC.lookupType(`google.rpc.${type}`);
  return found.toObject(found.decode(bytes), { longs: Number });
}

/** What the metadata of an error say: the headers, and the decoded details. */
function told({ error }: CallOutcome): unknown {
  const [bytes] = error!.metadata.get('grpc-status-details-bin');
  const { code, message, details = [] } = decoded('Status', bytes as Buffer);
  return {
    code,
    message,
    details: (details as { typeUrl: string; value: Uint8Array }[]).map(({ typeUrl, value }) => {
      const [prefix, type] = typeUrl.split('google.rpc.');
      expect(prefix).toBe('type.googleapis.com/');
      return decoded(type!, value);
    }),
    headers: error!.metadata.toHttp2Headers(),
  };
}

describe('a gRPC call', () => {
  it.each(calls)('of %s is rejected on its third, whatever streams in it', async (name, call, answers) => {
    const store = new StillStore();
    await using app = await GrpcApp.start(limitedWith({ store }));
    for (let i = 0; i < 2; i++) expect(await call(app.client)).toEqual(answers);
    const rejected = await call(app.client);
    expect(rejected).toMatchObject({
      answers: [],
      error: { code: status.RESOURCE_EXHAUSTED, details: 'Too many requests, retry in 3600 seconds' },
    });
    expect(store.asked).toHaveLength(3);
    expect(store.keys).toEqual([`rl:{ip:127.0.0.1}:Rides.${name}:two:fw:3600000000`]);
    expect(app.logs.of('error')).toEqual([]);
    expect(app.logs.of('warn')).toEqual([]);
  });

  it('that is rejected says when to retry, as people, clients and google.rpc have it', async () => {
    const store = new StillStore();
    await using app = await GrpcApp.start(limitedWith({ store }));
    for (let i = 0; i < 2; i++) await app.client.ask('Quote');
    store.advance(1_000.5);
    expect(told(await app.client.ask('Quote'))).toEqual({
      code: 8,
      message: 'Too many requests, retry in 3599 seconds',
      details: [
        { reason: 'RATE_LIMIT_EXCEEDED', domain: 'nestjs-floodgate', metadata: { policy: 'two' } },
        { retryDelay: { seconds: 3598, nanos: 999_500_000 } },
      ],
      headers: expect.objectContaining({ 'retry-after': '3599', 'grpc-retry-pushback-ms': '-1' }),
    });
    store.advance(3_598_000);
    const soon = await app.client.ask('Quote');
    expect(soon.error!.metadata.get('grpc-retry-pushback-ms')).toEqual(['1000']);
  });

  it('without the identity that counts is unauthenticated', async () => {
    await using app = await GrpcApp.start(limitedWith());
    const outcome = await app.client.ask('Refused');
    expect(outcome.error!.code).toBe(status.UNAUTHENTICATED);
    expect(told(outcome)).toMatchObject({ code: 16, headers: { 'grpc-retry-pushback-ms': '-1' } });
  });

  it('whose handler throws a rejection itself has the same status', async () => {
    await using app = await GrpcApp.start(limitedWith());
    const [unavailable, exceeded] = [await app.client.ask('Thrown'), await app.client.ask('Thrown')];
    expect(unavailable.error!.code).toBe(status.UNAVAILABLE);
    expect(told(unavailable)).toMatchObject({
      details: [{ reason: 'RATE_LIMIT_UNAVAILABLE' }, { retryDelay: { seconds: 1 } }],
      headers: { 'grpc-retry-pushback-ms': '1000' },
    });
    expect(exceeded.error!.code).toBe(status.RESOURCE_EXHAUSTED);
    expect(app.logs.of('error')).toEqual([]);
  });
});

describe('the identity of a gRPC call', () => {
  it('is its address, of IPv6 as well', async () => {
    const store = new StillStore();
    await using app = await GrpcApp.start(limitedWith({ store }), '[::1]');
    expect(await app.client.ask('Quote', { 'x-forwarded-for': '6.6.6.6', 'x-user-id': 'a' })).toMatchObject({
      answers: [{ cents: 200 }],
    });
    expect(store.keys).toEqual(['rl:{ip:%3A%3A/56}:Rides.quote:two:fw:3600000000']);
  });

  it('over a UNIX domain socket is none, and the log says what is right', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'floodgate-grpc-'));
    using _ = { [Symbol.dispose]: () => rmSync(folder, { recursive: true }) };
    await using app = await GrpcApp.start(limitedWith(), `unix:${join(folder, 'socket')}`);
    expect((await app.client.ask('Quote')).error!.code).toBe(status.UNKNOWN);
    expect(app.logs.of('error')).toEqual([
      expect.stringContaining("Rides.quote: a request of context 'rpc' has no identity that its policy counts"),
    ]);
  });
});
