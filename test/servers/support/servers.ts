import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
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

/** A server whose every route is limited, on a port of its own. */
export interface OpenServer extends AsyncDisposable {
  readonly url: string;
  readonly port: number;
}

/** A running server: `/200` answers with 200, `/handler` with what the handler says. */
type Open = (limiter: RateLimiter, limits: readonly Limit[], handler?: Handler) => Promise<OpenServer>;

const statusOf = (path: string | undefined, handler: Handler | undefined): Promise<number> =>
  path?.startsWith('/handler') === true ? handler!() : Promise.resolve(Number(path?.slice(1, 4)));

async function listening(server: Server): Promise<OpenServer> {
  if (!server.listening) await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
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
  async http(limiter, limits, handler) {
    const all = limits.map(([policies, options]) => limitRequests(limiter, policies, options));
    const server = createServer((request, response) => {
      const run = async (): Promise<void> => {
        for (const passes of all) if (!(await passes(request, response))) return;
        response.statusCode = await statusOf(request.url, handler);
        response.end('{}');
      };
      run().catch((error: unknown) => {
        response.statusCode = 500;
        response.end(String(error));
      });
    });
    return listening(server);
  },
  async express(limiter, limits, handler) {
    const app = express();
    app.set('trust proxy', limits.find(([, options]) => options?.trustProxy !== undefined)?.[1]?.trustProxy ?? false);
    for (const [policies, { trustProxy: _, ...options } = {}] of limits) {
      app.use(forExpress(limiter, policies, options));
    }
    app.use((request, response, next) => {
      statusOf(request.url, handler).then((status) => response.status(status).json({}), next);
    });
    app.use(((error: unknown, _request, response, _next) => {
      response.status(500).send(String(error));
    }) satisfies express.ErrorRequestHandler);
    return listening(createServer(app));
  },
  async fastify(limiter, limits, handler) {
    const trusted = limits.find(([, options]) => options?.trustProxy !== undefined)?.[1]?.trustProxy;
    const trustProxy = typeof trusted === 'number' ? (_: string, hop: number) => hop < trusted : trusted;
    const app = fastify({ trustProxy: trustProxy as never, forceCloseConnections: true });
    for (const [policies, { trustProxy: _, ...options } = {}] of limits) {
      await app.register(forFastify, { limiter, policies, ...options } satisfies FastifyLimitOptions);
    }
    app.get('/*', async (request, reply) => reply.code(await statusOf(request.url, handler)).send({}));
    app.setErrorHandler((error, _request, reply) => void reply.code(500).send(String(error)));
    await app.listen({ port: 0, host: '127.0.0.1' });
    const { port } = app.server.address() as AddressInfo;
    return { url: `http://127.0.0.1:${port}`, port, [Symbol.asyncDispose]: () => app.close() };
  },
  async hono(limiter, limits, handler) {
    const app = new Hono();
    for (const [policies, options] of limits) app.use(forHono(limiter, policies, options));
    app.all('*', async (context) => {
      const status = await statusOf(new URL(context.req.url).pathname, handler);
      return new Response('{}', { status });
    });
    app.onError((error) => new Response(String(error), { status: 500 }));
    const server = await new Promise<Server>((resolve) => {
      const opened = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, () => resolve(opened as Server));
    });
    return listening(server);
  },
};

export type ServerName = keyof typeof SERVERS;
export const NAMES = Object.keys(SERVERS) as ServerName[];
