import { Child } from './child.js';
import type { GeneratorProcedures } from './generator.main.js';
import { RedisMeter } from './redis-meter.js';
import type { ServiceProcedures } from './service.main.js';

/** All that a surge runs on, one process each. They outlive a case: what runs in them does not. */
export class Processes implements AsyncDisposable {
  private constructor(
    /** Undefined: each process of the application counts for itself. */
    readonly redis: RedisMeter | undefined,
    readonly matching: Child<ServiceProcedures>,
    readonly generator: Child<GeneratorProcedures>,
    readonly pods: readonly Child<ServiceProcedures>[],
  ) {}

  /** @throws Error with what one that did not start has said; then none is left */
  static async start(pods: number, withRedis: boolean): Promise<Processes> {
    const starting = {
      redis: withRedis ? RedisMeter.start() : undefined,
      matching: Child.start<ServiceProcedures>('The matching service', 'service'),
      generator: Child.start<GeneratorProcedures>('The load generator', 'generator'),
      pods: Array.from({ length: pods }, () =>
        Child.start<ServiceProcedures>('A process of the application', 'service'),
      ),
    };
    try {
      return new Processes(
        await starting.redis,
        await starting.matching,
        await starting.generator,
        await Promise.all(starting.pods),
      );
    } catch (error) {
      const all: Promise<AsyncDisposable | undefined>[] = [
        Promise.resolve(starting.redis),
        starting.matching,
        starting.generator,
        ...starting.pods,
      ];
      await endAll(all);
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { redis, matching, generator, pods } = this;
    await endAll([redis, matching, generator, ...pods].map((each) => Promise.resolve(each)));
  }
}

/** Those that started. */
async function endAll(starting: readonly Promise<AsyncDisposable | undefined>[]): Promise<void> {
  await Promise.all(
    starting.map(async (each) => {
      const started = await each.catch(() => undefined);
      await started?.[Symbol.asyncDispose]();
    }),
  );
}
