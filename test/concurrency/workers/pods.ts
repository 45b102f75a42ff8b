import {
  Controller,
  type DynamicModule,
  type ExecutionContext,
  Get,
  type INestApplication,
  Injectable,
  Module,
  Post,
} from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import {
  apiKeyIdentity,
  type Decision,
  RateLimit,
  RateLimiter,
  RateLimitGuard,
  RateLimitModule,
} from 'nestjs-floodgate';
import { serve } from '../../support/processes/serve.js';
import { withoutDeadline } from '../support/without-deadline.js';

export interface Arrival {
  /** By `performance.now()` of this process. */
  readonly arrived: number;
  /** By the wall clock, which Redis reads, too. */
  readonly arrivedAtMs: number;
}

/** The instant of a decision and the delay that it asks for, in whole microseconds, then its receipt by `performance.now()`. */
const DECISION_HEADER = 'X-Decision';

/** The guard, which also shows the client the instant of the store's decision. */
@Injectable()
class TransparentGuard extends RateLimitGuard {
  protected override setHeaders(context: ExecutionContext, decision: Decision): void {
    const received = performance.now();
    super.setHeaders(context, decision);
    const [at, delay] = [decision.decidedAtMs, decision.delayMs].map((ms) => Math.round(ms * 1000));
    const response: unknown = context.switchToHttp().getResponse();
    this.adapterHost.httpAdapter.setHeader(response, DECISION_HEADER, `${at} ${delay} ${received}`);
  }
}

@Controller()
class RidesController {
  @Get('up')
  up(): string {
    return 'yes';
  }

  @Post('rides')
  @RateLimit({ algorithm: 'token-bucket', capacity: 20, refill: 10 })
  request(): string {
    return 'requested';
  }

  @Post('index')
  @RateLimit({ algorithm: 'leaky-bucket', capacity: 250, drain: 200 })
  index(): Arrival {
    const now = performance.now();
    return { arrived: now, arrivedAtMs: performance.timeOrigin + now };
  }
}

@Module({})
class Pod {
  static on(redis: string | undefined): DynamicModule {
    return {
      module: Pod,
      imports: [
        RateLimitModule.forRoot({ redis, identity: [apiKeyIdentity()], onStoreFailure: 'closed', guard: false }),
      ],
      controllers: [RidesController],
      providers: [{ provide: APP_GUARD, useClass: TransparentGuard }],
    };
  }
}

let app: INestApplication | undefined;

export const procedures = {
  /** Starts this process's application in place of the previous one. Without a Redis it counts alone. */
  async open(redis: string | undefined): Promise<string> {
    await app?.close();
    app = await NestFactory.create(Pod.on(redis), { logger: ['error', 'fatal'] });
    await app.listen(0, '127.0.0.1');
    await withoutDeadline(app.get(RateLimiter));
    return app.getUrl();
  },
};

serve(procedures);
