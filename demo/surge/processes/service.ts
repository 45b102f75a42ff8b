import { setTimeout as delay } from 'node:timers/promises';
import { extname } from 'node:path';
import { randomPort } from '../../../tools/redis-server.js';
import { Child } from '../../processes/child.js';
import type { ProbeProcedures, ServiceUse } from './probe.js';

/** Entry points of the application, without `.js` or `.ts`. */
const ENTRIES = { application: 'main', matching: 'matching.main' } as const;

const PORT_ATTEMPTS = 20;
const BOOT_LIMIT_MS = 30_000;
const POLL_MS = 25;

/** The application or the matching service: its own entry point in a process, configured by its environment. */
export class Service implements AsyncDisposable {
  private constructor(
    private readonly child: Child<ProbeProcedures>,
    readonly port: number,
  ) {}

  /**
   * Resolves when the service answers `GET /healthz`.
   *
   * @param variables the service's environment, without its port
   * @param port default: a free one
   * @throws Error with the last output of a service that does not start
   */
  static async start(
    kind: keyof typeof ENTRIES,
    variables: Readonly<Record<string, string>>,
    port?: number,
  ): Promise<Service> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await Service.listenOn(port ?? randomPort(), kind, variables);
      } catch (error) {
        const taken = (error as Error).message.includes('EADDRINUSE');
        if (!taken || port !== undefined || attempt === PORT_ATTEMPTS) throw error;
      }
    }
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Starts a measurement: everything before was warm-up. */
  begin(): Promise<void> {
    return this.child.call('begin');
  }

  /** Ends the measurement. */
  end(): Promise<ServiceUse> {
    return this.child.call('end');
  }

  /** @throws Error unless the answer is a 200 */
  async get(path: string): Promise<Response> {
    const response = await fetch(`${this.url}${path}`);
    if (response.status !== 200) throw new Error(`GET ${path} answered ${response.status}: ${await response.text()}`);
    return response;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.child[Symbol.asyncDispose]();
  }

  private static async listenOn(
    port: number,
    kind: keyof typeof ENTRIES,
    variables: Readonly<Record<string, string>>,
  ): Promise<Service> {
    // The build has JavaScript in both places, a test run TypeScript.
    const extension = extname(import.meta.url);
    const child = await Child.start<ProbeProcedures>({
      name: kind === 'matching' ? 'The matching service' : 'A process of the application',
      script: new URL(`../../../src/${ENTRIES[kind]}${extension}`, import.meta.url),
      preload: new URL(`./probe${extension}`, import.meta.url),
      variables: { ...variables, PORT: `${port}` },
    });
    const service = new Service(child, port);
    try {
      await service.ready();
      return service;
    } catch (error) {
      await service[Symbol.asyncDispose]();
      throw error;
    }
  }

  private async ready(): Promise<void> {
    const limit = performance.now() + BOOT_LIMIT_MS;
    for (;;) {
      this.child.assertRunning();
      try {
        await (await this.get('/healthz')).text();
        return;
      } catch (error) {
        if (performance.now() > limit) throw error;
      }
      await delay(POLL_MS);
    }
  }
}
