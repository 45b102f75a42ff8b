import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { serve } from '@hono/node-server';
import express from 'express';
import { fastify } from 'fastify';
import { rateLimit as forExpress } from 'floodgate/express';
import { type FastifyLimitOptions, rateLimit as forFastify } from 'floodgate/fastify';
import { rateLimit as forHono } from 'floodgate/hono';
import { limitRequests, type NodeLimitOptions } from 'floodgate/http';
import type { LimiterPolicy, RateLimiter } from 'floodgate';
import { Hono } from 'hono';

/** What a server limits its requests by. */
export type Limit = readonly [
  policies: LimiterPolicy | readonly LimiterPolicy[],
  options?: NodeLimitOptions & { readonly user?: string },
];

/** What a route answers with, by its path. */
export type Handler = () => Promise<number>;

/** Answers a request with 504, before its limits do. */
export type AnswerEarly = (body: string | Readable) => void;

/** A server whose every route is limited, on a port of its own. */
export interface OpenServer extends AsyncDisposable {
  /** The errors of requests that were left to the server. */
  readonly errors: readonly unknown[];
  readonly url: string;
  readonly port: number;
}

/**
 * A running server: `/200` answers with 200, `/handler` with what the handler says.
 *
 * @param arrived called with each request before its limits
 */
type Open = (
  limiter: RateLimiter,
  limits: readonly Limit[],
  handler?: Handler,
  arrived?: (answer: AnswerEarly) => void,
) => Promise<OpenServer>;

const statusOf = (path: string | undefined, handler: Handler | undefined): Promise<number> =>
  path?.startsWith('/handler') === true ? handler!() : Promise.resolve(Number(path?.slice(1, 4)));

const earlyAnswer =
  (response: ServerResponse): AnswerEarly =>
  (body) => {
    response.statusCode = 504;
    if (typeof body === 'string') response.end(body);
    else body.pipe(response);
  };

async function listening(server: Server, errors: readonly unknown[]): Promise<OpenServer> {
  if (!server.listening) await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    errors,
    url: `http://127.0.0.1:${port}`,
    port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** A server of each kind. */
export const SERVERS: Readonly<Record<'http' | 'express' | 'fastify' | 'hono', Open>> = {
  async http(limiter, limits, handler, arrived) {
    const errors: unknown[] = [];
    const all = limits.map(([policies, options]) => limitRequests(limiter, policies, options));
    const server = createServer((request, response) => {
      arrived?.(earlyAnswer(response));
      const run = async (): Promise<void> => {
        for (const passes of all) if (!(await passes(request, response))) return;
        response.statusCode = await statusOf(request.url, handler);
        response.end('{}');
      };
      run().catch((error: unknown) => {
        errors.push(error);
        response.statusCode = 500;
        response.end(String(error));
      });
    });
    return listening(server, errors);
  },
  async express(limiter, limits, handler, arrived) {
    const errors: unknown[] = [];
    const app = express();
    app.use((_request, response, next) => {
      arrived?.(earlyAnswer(response));
      next();
    });
    app.set('trust proxy', limits.find(([, options]) => options?.trustProxy !== undefined)?.[1]?.trustProxy ?? false);
    for (const [policies, { trustProxy: _, ...options } = {}] of limits) {
      app.use(forExpress(limiter, policies, options));
    }
    app.use((request, response, next) => {
      statusOf(request.url, handler).then((status) => response.status(status).json({}), next);
    });
    app.use(((error: unknown, _request, response, _next) => {
      errors.push(error);
      response.status(500).send(String(error));
    }) satisfies express.ErrorRequestHandler);
    return listening(createServer(app), errors);
  },
  async fastify(limiter, limits, handler, arrived) {
    const errors: unknown[] = [];
    const trusted = limits.find(([, options]) => options?.trustProxy !== undefined)?.[1]?.trustProxy;
    const trustProxy = typeof trusted === 'number' ? (_: string, hop: number) => hop < trusted : trusted;
    const app = fastify({ trustProxy: trustProxy as never, forceCloseConnections: true });
    app.addHook('onRequest', (_request, reply, done) => {
      arrived?.((body) => void reply.code(504).send(body));
      done();
    });
    for (const [policies, { trustProxy: _, ...options } = {}] of limits) {
      await app.register(forFastify, { limiter, policies, ...options } satisfies FastifyLimitOptions);
    }
    app.get('/*', async (request, reply) => reply.code(await statusOf(request.url, handler)).send({}));
    app.setErrorHandler((error, _request, reply) => {
      errors.push(error);
      void reply.code(500).send(String(error));
    });
    await app.listen({ port: 0, host: '127.0.0.1' });
    const { port } = app.server.address() as AddressInfo;
    return { errors, url: `http://127.0.0.1:${port}`, port, [Symbol.asyncDispose]: () => app.close() };
  },
  async hono(limiter, limits, handler, arrived) {
    const errors: unknown[] = [];
    const app = new Hono();
    app.use(async (context, next) => {
      const early = new Promise<Response>((resolve) =>
        arrived?.((body) =>
          resolve(context.body(typeof body === 'string' ? body : (Readable.toWeb(body) as never), 504)),
        ),
      );
      return Promise.race([next(), early]);
    });
    for (const [policies, options] of limits) app.use(forHono(limiter, policies, options));
    app.all('*', async (context) => {
      const status = await statusOf(new URL(context.req.url).pathname, handler);
      return new Response('{}', { status });
    });
    app.onError((error) => {
      errors.push(error);
      return new Response(String(error), { status: 500 });
    });
    const server = await new Promise<Server>((resolve) => {
      const opened = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, () => resolve(opened as Server));
    });
    return listening(server, errors);
  },
};

export type ServerName = keyof typeof SERVERS;
export const NAMES = Object.keys(SERVERS) as ServerName[];
