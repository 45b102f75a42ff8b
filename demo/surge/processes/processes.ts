import { extname } from 'node:path';
import { Child } from '../../processes/child.js';
import type { GeneratorProcedures } from './generator.main.js';
import { RedisMeter } from './redis-meter.js';

/** The processes that last for a whole surge. Each case starts services of its own. */
export class Processes implements AsyncDisposable {
  private constructor(
    /** Undefined: each process of the application counts for itself. */
    readonly redis: RedisMeter | undefined,
    readonly generator: Child<GeneratorProcedures>,
  ) {}

  /** @throws Error with the output of a process that does not start; no process is left then */
  static async start(withRedis: boolean): Promise<Processes> {
    const redis = withRedis ? RedisMeter.start() : undefined;
    const generator = Child.start<GeneratorProcedures>({
      name: 'The load generator',
      // The build has JavaScript, a test run TypeScript.
      script: new URL(`./generator.main${extname(import.meta.url)}`, import.meta.url),
    });
    try {
      return new Processes(await redis, await generator);
    } catch (error) {
      await endAll([Promise.resolve(redis), generator]);
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await endAll([Promise.resolve(this.redis), Promise.resolve(this.generator)]);
  }
}

/** Ends those that have started. */
export async function endAll(starting: readonly Promise<AsyncDisposable | undefined>[]): Promise<void> {
  await Promise.all(
    starting.map(async (each) => {
      const started = await each.catch(() => undefined);
      await started?.[Symbol.asyncDispose]();
    }),
  );
}
