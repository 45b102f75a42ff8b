import { SubscribeMessage, WebSocketGateway } from '@nestjs/websockets';
import { describe, expect, it, jest } from '@jest/globals';
import * as fc from 'fast-check';
import { type Policy, RateLimit, RateLimiter } from 'nestjs-floodgate';
import { StillStore } from '../support/still-store.js';
import { ask, DRIVERS, nestTells, SocketApp } from './support/socket-app.js';

jest.setTimeout(60_000); // applications boot and answer in real time, and the machine may be busy

const WINDOW = { algorithm: 'fixed-window', window: '1h', scope: 'app' } as const;
const CLASSES = { rides: 1, searches: 0.8, estimates: 0.5 };
const LIMIT = 10;
const POLICIES = {
  api: { ...WINDOW, limit: LIMIT, priorities: CLASSES },
  quota: { ...WINDOW, limit: 3, else: 'credits' },
  credits: { ...WINDOW, limit: 4, by: 'global' },
} as const satisfies Record<string, Policy>;

/** What clients may send: the class of a message is that of its handler, or what a function finds. */
const PARTS = { ride: 1, search: 0.8, estimate: 0.5, named: 1, nonsense: 1, throws: 0.5 } as const;
type Event = keyof typeof PARTS;
const EVENTS = Object.keys(PARTS) as Event[];

@WebSocketGateway()
class Messages {
  @SubscribeMessage('ride')
  @RateLimit('api')
  ride(): object {
    return { event: 'done' };
  }

  @SubscribeMessage('search')
  @RateLimit({ policy: 'api', priority: 'searches' })
  search(): object {
    return { event: 'done' };
  }

  @SubscribeMessage('estimate')
  @RateLimit({ policy: 'api', priority: 'estimates' })
  estimate(): object {
    return { event: 'done' };
  }

  @SubscribeMessage('named')
  @RateLimit({ policy: 'api', priority: (_, context) => (context.getType() === 'ws' ? 'rides' : 'estimates') })
  named(): object {
    return { event: 'done' };
  }

  @SubscribeMessage('throws')
  @RateLimit({
    policy: 'api',
    priority: () => {
      throw new Error('gone');
    },
  })
  throws(): object {
    return { event: 'done' };
  }

  @SubscribeMessage('nonsense')
  @RateLimit({ policy: 'api', priority: () => 'vip' })
  nonsense(): object {
    return { event: 'done' };
  }

  @SubscribeMessage('report')
  @RateLimit('quota')
  report(): object {
    return { event: 'done' };
  }
}

/** Which messages pass while the class of each may fill its part. A class that does not exist charges nothing. */
function expected(events: readonly Event[]): boolean[] {
  let used = 0;
  return events.map((event) => {
    const passes = event !== 'nonsense' && used + 1 <= LIMIT * PARTS[event];
    if (passes) used++;
    return passes;
  });
}

describe.each(DRIVERS)('messages over %s', (driver) => {
  it('in classes fill at most the part of their class, whatever connection they come by', async () => {
    await using app = await SocketApp.start(driver, Messages, { store: new StillStore(), policies: POLICIES });
    const limiter = app.http.app.get(RateLimiter);
    const clients = [await app.connect(), await app.connect()];
    // A class that does not exist is an error of Nest's own.
    const events = EVENTS.filter((event) => event !== 'nonsense' || nestTells(driver));
    const messages = fc.array(fc.tuple(fc.constantFrom(...events), fc.nat(1)), { minLength: 10, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(messages, async (sent) => {
        await limiter.reset('api', { kind: 'ip', value: '127.0.0.1' });
        const passed: boolean[] = [];
        for (const [event, by] of sent) passed.push((await ask(clients[by]!, event)).event === 'done');
        expect(passed).toEqual(expected(sent.map(([event]) => event)));
      }),
      { numRuns: 15 },
    );
  });

  it('that come at once run over into credits, and no further', async () => {
    await using app = await SocketApp.start(driver, Messages, { store: new StillStore(), policies: POLICIES });
    const clients = [await app.connect(), await app.connect(), await app.connect()];
    const said = await Promise.all(
      clients.map(async (client) => {
        for (let i = 0; i < 10; i++) client.emit('report', {});
        const answers = [];
        for (let i = 0; i < 10; i++) answers.push((await client.next()).event);
        return answers;
      }),
    );
    expect(said.flat().filter((event) => event === 'done')).toHaveLength(3 + 4);
    expect(app.http.app.get(RateLimiter).stats().runOver).toEqual([{ policy: 'quota', to: 'credits', requests: 4 }]);
  });
});
