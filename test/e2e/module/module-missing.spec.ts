import { Controller, Get } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { Test } from '@nestjs/testing';
import { describe, expect, it } from '@jest/globals';
import { RateLimit, RateLimitModule, SkipRateLimit } from 'nestjs-floodgate';
import { CapturedLogs, start } from '../../support/http-app.js';

const POLICY = { algorithm: 'token-bucket', capacity: 1, refill: '1/m' } as const;

@Controller()
class Routes {
  @Get()
  @RateLimit(POLICY)
  get(): void {}

  @Get('skipped')
  @SkipRateLimit()
  skipped(): void {}
}

@Controller('all')
@RateLimit(POLICY)
class AllRoutes {
  @Get()
  get(): void {}
}

describe('RateLimitModule', () => {
  it('that is not imported causes a warning for every @RateLimit, which names the import', async () => {
    await using app = await start('Express', { controllers: [Routes, AllRoutes] });
    const problem =
      '@RateLimit has no effect, because RateLimitModule is not imported: add RateLimitModule.forRoot() to the';
    expect(app.logs.of('warn').toSorted()).toEqual([
      expect.stringContaining(`AllRoutes: ${problem}`),
      expect.stringContaining(`Routes.get: ${problem}`),
    ]);
    expect(await app.crowd(3, '/')).toEqual({ 200: 3 });
  });

  it('that is imported without forRoot stops the boot, and the error names the right imports', async () => {
    await expect(start('Express', { imports: [RateLimitModule], controllers: [Routes] })).rejects.toThrow(
      'RateLimitModule: is imported without options: import RateLimitModule.forRoot() or RateLimitModule.forRootAsync(',
    );
  });
});

it('a testing module with a controller alone needs no RateLimitModule', async () => {
  const logger = new CapturedLogs();
  const testing = await Test.createTestingModule({ controllers: [Routes] })
    .setLogger(logger)
    .compile();
  expect(testing.get(Routes)).toBeInstanceOf(Routes);
  expect(logger.of('warn')).toHaveLength(1);
  await testing.close();
});

describe('Nest 10', () => {
  it('is named at boot, where npm was told to install the package beside it', async () => {
    const module = Test.createTestingModule({ imports: [RateLimitModule.forRoot()] })
      .overrideProvider(HttpAdapterHost)
      .useValue({ listen$: undefined }); // as of Nest 10, without init$
    await expect(module.compile()).rejects.toThrow(
      'RateLimitModule: needs Nest 11.1.4 or newer, got Nest 10 or older: update @nestjs/common, @nestjs/core and the platform',
    );
  });
});
