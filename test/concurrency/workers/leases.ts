import { Controller, Get, type INestApplication, Module, Query } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import { RateLimit, RateLimiter, RateLimitModule } from 'nestjs-floodgate';
import { answerCalls } from '../../../demo/processes/answer-calls.js';
import { withoutDeadline } from '../support/without-deadline.js';
import { POLICY } from '../support/lease-policy.js';

/** What runs in all processes: a hash of counts by process, and the most that any handler has seen. */
const RUNNING = 'running';
const PEAK = 'peak';

const ENTER = `
redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
local sum = 0
for _, count in ipairs(redis.call('HVALS', KEYS[1])) do sum = sum + count end
if sum > tonumber(redis.call('GET', KEYS[2]) or 0) then redis.call('SET', KEYS[2], sum) end
return sum`;

let redis: Redis;
let app: INestApplication;
let name: string;

@Controller()
class Work {
  @Get('work')
  @RateLimit(POLICY)
  async work(@Query('ms') ms: string): Promise<number> {
    const running = Number(await redis.eval(ENTER, 2, RUNNING, PEAK, name));
    await new Promise((resolve) => setTimeout(resolve, Number(ms)));
    await redis.hincrby(RUNNING, name, -1);
    return running;
  }
}

export const procedures = {
  async open(given: { url: string; name: string }): Promise<string> {
    ({ name } = given);
    redis = new Redis(given.url);
    @Module({
      imports: [RateLimitModule.forRoot({ redis: given.url, onStoreFailure: 'closed' })],
      controllers: [Work],
    })
    class Pod {}
    app = await NestFactory.create(Pod, { logger: ['error', 'fatal'] });
    await app.listen(0, '127.0.0.1');
    await withoutDeadline(app.get(RateLimiter));
    return app.getUrl();
  },
};

answerCalls(procedures);
