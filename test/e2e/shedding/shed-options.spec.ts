import { Controller, Get } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitModule, type RateLimitModuleOptions, type ShedOptions } from 'nestjs-floodgate';
import { type HttpApp, limited, start } from '../../support/http-app.js';
import { sheddingOf, untilLevel } from '../../support/shedding.js';

@Controller()
class Routes {
  @Get('limited')
  @RateLimit({ algorithm: 'fixed-window', limit: 1000, window: '300d' })
  limited(): void {}
}

describe('boot', () => {
  const boot = (shed: unknown, options: RateLimitModuleOptions = {}): Promise<HttpApp> =>
    start('Express', {
      imports: [RateLimitModule.forRoot({ ...options, shed: shed as ShedOptions })],
      controllers: [Routes],
    });

  const THRESHOLD = { eventLoopDelay: '100ms', priority: 'normal', classes: ['normal'] };

  it.each<[unknown, string]>([
    [5, 'RateLimitModule: shed must be an object such as'],
    [{ eventLoopDelay: 100 }, 'shed: classes must be an array of one class or more, lowest first, each once'],
    [{ ...THRESHOLD, classes: ['normal', 'normal'] }, "got 'normal' at [1]"],
    [
      { classes: ['normal'], priority: 'normal' },
      'has no threshold, so nothing is ever shed: give one of eventLoopDelay',
    ],
    [
      { ...THRESHOLD, eventLoopDelay: '0.5ms' },
      "eventLoopDelay must be a duration of whole milliseconds from '1ms' to '10s'",
    ],
    [
      { ...THRESHOLD, eventLoopUtilization: 1 },
      'eventLoopUtilization must be a part of the time, above 0 and below 1, got 1',
    ],
    [{ ...THRESHOLD, heapUsed: '1gb' }, "heapUsed must be a whole number from 1, got '1gb'"],
    [{ ...THRESHOLD, check: true }, 'check must be a function that returns true or false, got true'],
    [{ ...THRESHOLD, window: 50 }, "window must be a duration of whole milliseconds from '100ms' to '60s'"],
    [{ ...THRESHOLD, retryAfter: '1ms' }, "retryAfter must be a duration of whole milliseconds from '1s' to '3600s'"],
    [{ ...THRESHOLD, priority: 7 }, 'priority must be the name of a class, or a function that returns one, got 7'],
    [
      { ...THRESHOLD, priority: 'norml' },
      "priority: 'norml' is not among classes ('normal'), so nothing is ever shed. Did you mean 'normal'?",
    ],
    [{ ...THRESHOLD, eventLoopLag: 5 }, "'eventLoopLag' is not an option."],
    [{ ...THRESHOLD, beforeRouting: true }, 'beforeRouting has no effect without middleware'],
  ])('refuses %j', async (shed, message) => {
    await expect(boot(shed)).rejects.toThrow(message);
  });

  it('warns if no request can ever be shed', async () => {
    const { priority: _, ...unclassed } = THRESHOLD;
    await using app = await boot(unclassed);
    expect(app.logs.of('warn')).toContain(
      'RateLimitModule, shed: no request can ever be shed, because no policy gives its requests one of the classes that give way: give ' +
        'shed a priority, or give policies one RateLimit',
    );
    await using right = await boot(THRESHOLD);
    expect(right.logs.text).not.toContain('can ever be shed');
    await using skipped = await limited('Express', [], { shed: THRESHOLD });
    expect(skipped.logs.text).toContain('no handler behind the guard is without @SkipRateLimit()');
  });

  it('warns of a heap that the process cannot have', async () => {
    await using app = await boot({ ...THRESHOLD, heapUsed: 1e15 });
    expect(app.logs.text).toContain('heapUsed: 1000000000000000 is never reached');
  });

  it('measures what is slow: a process whose event loop is busy sheds, and recovers', async () => {
    await using app = await boot({ ...THRESHOLD, eventLoopDelay: 20, window: 100 });
    while (!sheddingOf(app.app).active) {
      const busy = performance.now() + 60;
      while (performance.now() < busy);
      await new Promise(setImmediate);
    }
    expect(sheddingOf(app.app)).toMatchObject({ active: true, threshold: 'eventLoopDelay' });
    await untilLevel(app.app, 0);
    expect((await app.send('/limited')).status).toBe(200);
  });
});
