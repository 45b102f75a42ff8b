import { Redis } from 'ioredis';

/**
 * The server that `TEST_REDIS_URL` names, such as another version of Redis, or a Valkey. The tests empty it: they run one at a
 * time (`npm run test:conformance`).
 */
export class OutsideRedis {
  private constructor(readonly url: string) {}

  /** @throws {Error} when the test needs a server with arguments of its own */
  static given(args: readonly string[]): OutsideRedis | undefined {
    const url = process.env['TEST_REDIS_URL'];
    if (!url) return undefined;
    if (args.length > 0) throw new Error(`This test needs a Redis with ${args.join(' ')}: unset TEST_REDIS_URL`);
    return new OutsideRedis(url);
  }

  /** What clients see of a restart: their connections end, and the server has forgotten its data and scripts. */
  async restart(): Promise<void> {
    const client = new Redis(this.url);
    await client.flushdb();
    await client.script('FLUSH');
    await client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    client.disconnect();
  }

  /** The server stays. */
  async stop(): Promise<void> {}
}
