import type { AddressInfo, Server } from 'node:net';
import {
  Controller,
  type ExecutionContext,
  HttpCode,
  HttpStatus,
  type INestApplication,
  Injectable,
  Module,
  Post,
} from '@nestjs/common';
import { APP_GUARD, NestFactory } from '@nestjs/core';
import {
  type Decision,
  RateLimit,
  RateLimiter,
  RateLimitGuard,
  RateLimitModule,
  type RateLimitModuleOptions,
  userIdentity,
} from 'nestjs-floodgate';
import { DECIDED_BY, POD_LIMIT } from './pod-limits.js';
import type { Bucket } from './pods-tick.js';

@Controller()
class RidesController {
  @Post('rides')
  @HttpCode(HttpStatus.OK)
  @RateLimit({
    name: 'rider',
    algorithm: 'token-bucket',
    capacity: POD_LIMIT.capacity,
    refill: `${POD_LIMIT.refillPerMinute}/m`,
  })
  request(): { accepted: true } {
    return { accepted: true };
  }
}

/** Adds to each answer what decided. */
@Injectable()
class PodGuard extends RateLimitGuard {
  protected override setHeaders(context: ExecutionContext, decision: Decision): void {
    super.setHeaders(context, decision);
    this.adapterHost.httpAdapter.setHeader(context.switchToHttp().getResponse(), DECIDED_BY, decision.decidedBy);
  }
}

@Module({ controllers: [RidesController], providers: [{ provide: APP_GUARD, useClass: PodGuard }] })
class PodModule {}

/** Where a pod keeps its limits: nowhere but in itself, in a Redis, or in a store. */
export type Where = Pick<RateLimitModuleOptions, 'redis' | 'store' | 'localShare'>;

export interface Level extends Bucket {
  readonly decidedBy: Decision['decidedBy'];
}

/** A small application with one limited route, as a pod serves it, on a free port of the loopback interface. */
export class PodApp {
  private constructor(
    private readonly app: INestApplication,
    private readonly limiter: RateLimiter,
  ) {}

  static async start(where: Where): Promise<PodApp> {
    const limits = RateLimitModule.forRoot({
      ...where,
      identity: [userIdentity()], // the page's process is the only client, and stands for the gateway
      keyPrefix: 'pods',
      // A machine that runs a surge at the same time may be slow, and a slow Redis is not the outage to show.
      deadline: 250,
      guard: false,
    });
    const module = { module: PodModule, imports: [limits] };
    const app = await NestFactory.create(module, { abortOnError: false, logger: ['error'] });
    await app.listen(0, '127.0.0.1');
    return new PodApp(app, app.get(RateLimiter, { strict: false }));
  }

  get url(): string {
    return `http://127.0.0.1:${((this.app.getHttpServer() as Server).address() as AddressInfo).port}`;
  }

  get reachesStore(): boolean {
    return this.limiter.stats().store.available;
  }

  /** The tokens that a rider's next request finds. */
  async levelOf(rider: string): Promise<Level> {
    const decision = await this.limiter.peek([RidesController, 'request'], { kind: 'user', value: rider });
    const { limit, remaining } = decision.policies[0]!;
    return { limit, tokens: remaining, decidedBy: decision.decidedBy };
  }
}
