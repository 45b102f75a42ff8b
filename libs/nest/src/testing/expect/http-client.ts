import { RateLimitConfigError } from 'floodgate';
import { Agent as HttpAgent, type IncomingHttpHeaders, type IncomingMessage, request as overHttp } from 'node:http';
import { Agent as HttpsAgent, request as overHttps } from 'node:https';
import type { AddressInfo } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import type { ApplicationLike } from '../runtime-of.js';

/** A Nest application that serves HTTP, as far as the kit uses it. */
export interface HttpApplicationLike extends ApplicationLike {
  getHttpServer(): unknown;
  listen(port: number, hostname: string): Promise<unknown>;
}

/** A request to the application. */
export interface LimitRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** An object is sent as JSON, text as it is. */
  readonly body: unknown;
}

/** The application's answer. */
export interface LimitReply {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The parsed text; undefined when it is not JSON. */
  readonly body: unknown;
}

interface Listening {
  readonly secure: boolean;
  readonly address: AddressInfo | string;
}

/** Sends requests to an application. It listens on a free port of 127.0.0.1 unless it listens already. */
export class HttpClient {
  private static readonly clients = new WeakMap<object, HttpClient>();
  private readonly http = new HttpAgent({ keepAlive: true });
  // The application of a test has a certificate of its own making.
  private readonly https = new HttpsAgent({ keepAlive: true, rejectUnauthorized: false });
  private opening: Promise<unknown> | undefined;

  /** The one client of an application. */
  static of(app: HttpApplicationLike): HttpClient {
    let client = this.clients.get(app);
    if (client === undefined) this.clients.set(app, (client = new HttpClient(app)));
    return client;
  }

  private constructor(private readonly app: HttpApplicationLike) {}

  async send({ method, path, headers, body }: LimitRequest): Promise<LimitReply> {
    const { secure, address } = await this.listening();
    const sent = bodyOf(body);
    return new Promise((resolve, reject) => {
      const to =
        typeof address === 'string'
          ? { socketPath: address }
          : { host: reachable(address.address), port: address.port };
      const settings = { ...to, method, path, headers: { ...sent?.headers, ...headers } };
      const answered = (response: IncomingMessage): void => {
        const chunks: Buffer[] = [];
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', reject);
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString();
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text, body: parsed(text) });
        });
      };
      const request = secure
        ? overHttps({ ...settings, agent: this.https }, answered)
        : overHttp({ ...settings, agent: this.http }, answered);
      request.on('error', reject);
      request.end(sent?.data);
    });
  }

  private async listening(): Promise<Listening> {
    const server = this.app.getHttpServer() as { address?(): AddressInfo | string | null };
    if (typeof server?.address !== 'function')
      throw new RateLimitConfigError('expectLimit', 'the application has no HTTP server');
    if (server.address() === null) await (this.opening ??= this.app.listen(0, '127.0.0.1'));
    const address = server.address();
    if (address === null) throw new RateLimitConfigError('expectLimit', 'the application is closed');
    return { secure: server instanceof TlsServer, address };
  }
}

/** An address that a client can dial: a server may listen on all of them. */
function reachable(address: string): string {
  return address === '::' || address === '0.0.0.0' ? 'localhost' : address;
}

function bodyOf(body: unknown): { data: string | Uint8Array; headers: Readonly<Record<string, string>> } | undefined {
  if (body === undefined) return undefined;
  if (typeof body === 'string' || body instanceof Uint8Array) {
    return { data: body, headers: { 'content-length': String(Buffer.byteLength(body)) } };
  }
  const data = JSON.stringify(body);
  const headers = { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(data)) };
  return { data, headers };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
