import { Int, Query, Resolver } from '@nestjs/graphql';
import { MessagePattern } from '@nestjs/microservices';
import { Controller } from '@nestjs/common';
import { describe, expect, it, jest } from '@jest/globals';
import { type Policy, RateLimit, RateLimiter, RateLimitModule } from 'nestjs-floodgate';
import { StillStore } from '../support/still-store.js';
import { codes, DRIVERS, startGraphql } from './support/graphql-app.js';
import { MessageApp } from './support/message-app.js';

jest.setTimeout(30_000);

const WINDOW = { algorithm: 'fixed-window', window: '1h' } as const;
const MONTHLY = { ...WINDOW, name: 'monthly', limit: 1, scope: 'app', else: 'credits' } as const satisfies Policy;

@Resolver()
class Searches {
  @Query(() => Int, { nullable: true })
  @RateLimit(MONTHLY)
  search(): number {
    return 1;
  }

  @Query(() => Int, { nullable: true })
  @RateLimit(MONTHLY)
  other(): number {
    return 2;
  }
}

@Controller()
class Messages {
  @MessagePattern('search')
  @RateLimit(MONTHLY)
  search(): string {
    return 'found';
  }
}

const limiterOf = () =>
  RateLimitModule.forRoot({ store: new StillStore(), policies: { credits: { ...WINDOW, limit: 2 } } });

describe.each(DRIVERS)('with %s', (driver) => {
  it('an operation runs over as a whole: its fields of one policy share the charge of the other policy', async () => {
    await using app = await startGraphql(driver, { imports: [limiterOf()], providers: [Searches] });
    const ask = async (): Promise<readonly unknown[]> => codes(await app.ask('{ a: search b: search other }'));
    expect([await ask(), await ask(), await ask()]).toEqual([[], [], []]);
    expect(new Set(await ask())).toEqual(new Set(['RATE_LIMITED']));
    expect(app.http.app.get(RateLimiter).stats().runOver).toEqual([{ policy: 'monthly', to: 'credits', requests: 2 }]);
  });
});

describe.each(['{ paid free }', '{ free paid }'])('%s', (query) => {
  @Resolver()
  class Fields {
    @Query(() => Int, { nullable: true })
    @RateLimit(MONTHLY)
    paid(): number {
      return 1;
    }

    @Query(() => Int, { nullable: true })
    @RateLimit({ ...WINDOW, name: 'monthly', limit: 1, scope: 'app' })
    free(): number {
      return 1;
    }
  }

  it('a field whose policy has no else gets no place by the credits of another field, and takes none from it', async () => {
    await using app = await startGraphql('Mercurius', { imports: [limiterOf()], providers: [Fields] });
    const ask = async (): Promise<unknown> => (await app.ask(query)).data;
    expect(await ask()).toEqual({ paid: 1, free: 1 });
    expect([await ask(), await ask()]).toEqual([
      { paid: 1, free: null },
      { paid: 1, free: null },
    ]);
    expect(await ask()).toEqual({ paid: null, free: null });
    expect(app.http.app.get(RateLimiter).stats().runOver).toEqual([{ policy: 'monthly', to: 'credits', requests: 2 }]);
  });
});

describe('a message over TCP', () => {
  it('runs over', async () => {
    await using app = await MessageApp.start({ imports: [limiterOf()], controllers: [Messages] });
    for (let i = 0; i < 3; i++) expect(await app.client.send('search')).toMatchObject({ answer: 'found' });
    expect(await app.client.send('search')).toMatchObject({ error: { error: 'rate_limit_exceeded' } });
  });

  it('frees the place of a concurrency behind an else when its handler has ended', async () => {
    const slots = { algorithm: 'concurrency', limit: 1, lease: '1h' } as const;
    const module = RateLimitModule.forRoot({ store: new StillStore(), policies: { credits: slots } });
    await using app = await MessageApp.start({ imports: [module], controllers: [Messages] });
    for (let i = 0; i < 5; i++) expect(await app.client.send('search')).toMatchObject({ answer: 'found' });
  });
});
