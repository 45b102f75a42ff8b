import { Agent, type IncomingHttpHeaders, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { INestApplication, LoggerService, ModuleMetadata, Type } from '@nestjs/common';
import { type AbstractHttpAdapter, NestFactory } from '@nestjs/core';
import { ExpressAdapter, type NestExpressApplication } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import {
  apiKeyIdentity,
  type IdentityResolver,
  ipIdentity,
  RateLimitModule,
  type RateLimitModuleExtras,
  type RateLimitModuleOptions,
  userIdentity,
} from 'nestjs-floodgate';

export type Platform = 'Express' | 'Fastify';

export const PLATFORMS: readonly Platform[] = ['Express', 'Fastify'];

/**
 * The installed platforms where they differ with their versions. Fastify 5.4, of Nest 11.1.4, routes a target without a slash in
 * front as one with it, and an overlong parameter to no route.
 */
export const isOldFastify = new FastifyAdapter().getInstance().version.startsWith('5.4.');

/** The identities of an application behind a gateway that sets these headers: a test's client plays the gateway. */
export const FROM_HEADERS: readonly IdentityResolver[] = [apiKeyIdentity(), userIdentity(), ipIdentity()];

export interface Reply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The parsed text, or undefined when it is not JSON. */
  readonly body: unknown;
}

export interface SendOptions {
  readonly method?: string;
  /** The client sends a header with several values several times. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
}

export interface AppSettings {
  /** The platform's own trust-proxy setting; default off. Fastify takes no numbers. */
  readonly trustProxy?: boolean | number | string | string[] | ((address: string, hop: number) => boolean);
  /** More options of Fastify's adapter. */
  readonly fastify?: object;
  /** A key and its certificate: the server speaks TLS, and `send` does not. */
  readonly https?: object | undefined;
  /** Called before the application listens: for a prefix, versions, hooks. */
  readonly configure?: (app: INestApplication) => void;
}

export interface LogLine {
  readonly level: 'log' | 'warn' | 'error' | 'fatal' | 'debug' | 'verbose';
  readonly text: string;
}

/** The link behind a message of the library. */
const HELP = / \(see https:[^)]*\/errors#\w+\)/;

/** Collects the log lines of Nest and the library. */
export class CapturedLogs implements LoggerService {
  readonly lines: LogLine[] = [];
  readonly log = this.level('log');
  readonly warn = this.level('warn');
  readonly error = this.level('error');
  readonly fatal = this.level('fatal');
  readonly debug = this.level('debug');
  readonly verbose = this.level('verbose');

  get text(): string {
    return this.lines.map(({ level, text }) => `${level} ${text}`).join('\n');
  }

  /** Without the link to the page on errors, which test/docs checks. */
  of(level: LogLine['level']): string[] {
    return this.lines.filter((line) => line.level === level).map(({ text }) => text.replace(HELP, ''));
  }

  private level(level: LogLine['level']) {
    return (...parts: unknown[]): void => {
      const text = parts.map((part) => (part instanceof Error ? String(part.stack) : String(part))).join(' ');
      this.lines.push({ level, text });
    };
  }
}

/** An application on a port of its own, with an HTTP client. */
export class HttpApp implements AsyncDisposable {
  private readonly agent = new Agent({ keepAlive: true, maxSockets: 256 });
  private readonly pending = new Set<Promise<Reply>>();

  constructor(
    readonly app: INestApplication,
    readonly logs: CapturedLogs,
    readonly port: number,
  ) {}

  /** Header values are sent byte by byte (latin1), as is the path. */
  send(path: string, options?: SendOptions): Promise<Reply> {
    const reply = this.exchange(path, options).finally(() => this.pending.delete(reply));
    this.pending.add(reply);
    return reply;
  }

  /** Sends a request of a user, named in a header: the application needs `identity: FROM_HEADERS`. */
  as(user: string, path: string, options: SendOptions = {}): Promise<Reply> {
    return this.send(path, { ...options, headers: { ...asUser(user).headers, ...options.headers } });
  }

  /** The statuses of `count` requests, one after the other. */
  async statuses(count: number, path: string, options?: SendOptions): Promise<number[]> {
    const seen: number[] = [];
    for (let i = 0; i < count; i++) seen.push((await this.send(path, options)).status);
    return seen;
  }

  /** The number of responses by status of `count` concurrent requests. */
  async crowd(count: number, path: string, options?: SendOptions): Promise<Record<number, number>> {
    const replies = await Promise.all(Array.from({ length: count }, () => this.send(path, options)));
    const counts: Record<number, number> = {};
    for (const { status } of replies) counts[status] = (counts[status] ?? 0) + 1;
    return counts;
  }

  /** Closes the application, then the client once it has read all responses. */
  async close(): Promise<void> {
    await this.app.close();
    await Promise.allSettled(this.pending);
    this.agent.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  private exchange(path: string, { method = 'GET', headers = {} }: SendOptions = {}): Promise<Reply> {
    return new Promise((resolve, reject) => {
      const { agent, port } = this;
      const sent = request({ agent, host: '127.0.0.1', port, path, method }, (response) => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text, body: parsed(text) });
        });
      });
      for (const [name, value] of Object.entries(headers)) sent.setHeader(name, value);
      sent.on('error', reject);
      sent.end();
    });
  }
}

export function adapterOf(platform: Platform, fastify: object = {}): AbstractHttpAdapter {
  return platform === 'Express' ? new ExpressAdapter() : new FastifyAdapter(fastify);
}

/** Boots a module's application; rejects with the boot error. */
export async function start(
  platform: Platform,
  metadata: ModuleMetadata,
  { trustProxy = false, fastify, https, configure }: AppSettings = {},
): Promise<HttpApp> {
  class Root {}
  const logs = new CapturedLogs();
  const adapter = adapterOf(platform, { trustProxy, ...(https && { https }), ...fastify });
  const app: INestApplication = await NestFactory.create({ module: Root, ...metadata }, adapter, {
    logger: logs,
    abortOnError: false,
    ...(platform === 'Express' && https && { httpsOptions: https }),
  });
  if (platform === 'Express') (app as NestExpressApplication).set('trust proxy', trustProxy);
  configure?.(app);
  await app.listen(0, '127.0.0.1');
  const server = app.getHttpServer() as Server;
  server.keepAliveTimeout = 0; // on a stalled machine the server would close a connection that the client takes
  return new HttpApp(app, logs, (server.address() as AddressInfo).port);
}

/** An application of these controllers, limited with these options. */
export function limited(
  platform: Platform,
  controllers: Type | Type[],
  options: RateLimitModuleOptions & RateLimitModuleExtras = {},
  settings?: AppSettings,
): Promise<HttpApp> {
  return start(platform, { imports: [RateLimitModule.forRoot(options)], controllers: [controllers].flat() }, settings);
}

/** The headers of a user, for an application with `identity: FROM_HEADERS`. */
export function asUser(user: string): { readonly headers: Readonly<Record<string, string>> } {
  return { headers: { 'X-User-Id': user } };
}

/** `X-RateLimit-Remaining`, NaN when there is none. */
export function left({ headers }: Reply): number {
  return Number(headers['x-ratelimit-remaining']);
}

/** The names of a reply's `X-RateLimit-*` headers. */
export function limitHeaders({ headers }: Reply): string[] {
  return Object.keys(headers).filter((name) => name.startsWith('x-ratelimit'));
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
