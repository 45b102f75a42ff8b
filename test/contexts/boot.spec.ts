import { Controller, Injectable } from '@nestjs/common';
import { CommandHandler, CqrsModule, EventsHandler } from '@nestjs/cqrs';
import { EventEmitterModule, OnEvent } from '@nestjs/event-emitter';
import { Field, Int, ObjectType, Query, ResolveField, Resolver } from '@nestjs/graphql';
import { MessagePattern } from '@nestjs/microservices';
import { Cron, Interval, ScheduleModule } from '@nestjs/schedule';
import { describe, expect, it } from '@jest/globals';
import { type Policy, RateLimit, RateLimitModule, type RateLimitModuleOptions } from 'nestjs-floodgate';
import { start } from '../support/http-app.js';
import { StillStore } from '../support/still-store.js';
import { startGraphql } from './support/graphql-app.js';
import { MessageApp } from './support/message-app.js';

const TWO: Policy = { name: 'two', algorithm: 'fixed-window', limit: 2, window: '1h' };
const limiter = (options: RateLimitModuleOptions = {}) =>
  RateLimitModule.forRoot({ store: new StillStore(), ...options });

describe('boot warns of @RateLimit', () => {
  it('on handlers of schedules, events, commands and queries', async () => {
    @Injectable()
    class Jobs {
      @Cron('0 0 1 1 *')
      @RateLimit(TWO)
      yearly(): void {}

      @Interval(1_000_000)
      @RateLimit(TWO)
      often(): void {}

      @OnEvent('done')
      @RateLimit(TWO)
      done(): void {}
    }
    class Book {}
    @CommandHandler(Book)
    @RateLimit(TWO)
    class BookHandler {
      async execute(): Promise<void> {}
    }
    @EventsHandler(Book)
    class Booked {
      @RateLimit(TWO)
      handle(): void {}
    }
    await using app = await start('Express', {
      imports: [limiter(), ScheduleModule.forRoot(), EventEmitterModule.forRoot(), CqrsModule.forRoot()],
      providers: [Jobs, BookHandler, Booked],
    });
    expect(app.logs.of('warn')).toEqual(
      ['Jobs.yearly', 'Jobs.often', 'Jobs.done', 'BookHandler', 'Booked.handle'].map(
        (place) =>
          `${place}: @RateLimit has no effect there: it limits routes, resolvers and message handlers; count jobs, events and others with ` +
          'RateLimiter.consume RateLimit',
      ),
    );
  });

  it('on resolvers of fields that Nest calls without guards', async () => {
    @ObjectType()
    class Rider {
      @Field(() => Int)
      id!: number;
    }
    @Resolver(() => Rider)
    class Riders {
      @Query(() => Rider)
      rider(): Rider {
        return { id: 1 };
      }

      @ResolveField(() => Int)
      @RateLimit(TWO)
      trips(): number {
        return 1;
      }
    }
    const metadata = { imports: [limiter()], providers: [Riders] };
    await using app = await startGraphql('Apollo over Express', metadata);
    expect(app.http.logs.of('warn')).toEqual([
      'Riders.trips: @RateLimit has no effect there: Nest calls resolvers of fields without guards, unless the options of ' +
        "GraphQLModule have fieldResolverEnhancers: ['guards'] RateLimit",
    ]);
  });
});

describe('boot stops', () => {
  class Wrong {
    @MessagePattern('a')
    @RateLimit('no such policy')
    a(): void {}
  }
  Controller()(Wrong);

  it('at a wrong policy of a message handler', async () => {
    await expect(MessageApp.start({ imports: [limiter()], controllers: [Wrong] })).rejects.toThrow(
      "Wrong.a, @RateLimit: there is no policy named 'no such policy'",
    );
  });

  it.each([
    [[{}]],
    [[{ type: 'job', handlers: 'a job', place: 'somewhere', isHandler: () => true, request: () => ({ headers: {} }) }]],
  ])('at contexts: %j', async (contexts) => {
    await expect(start('Express', { imports: [limiter({ contexts: contexts as never })] })).rejects.toThrow(
      'RateLimitModule: contexts must be an array of ContextAdapters',
    );
  });
});
