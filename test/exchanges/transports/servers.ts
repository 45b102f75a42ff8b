import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { serve } from '@hono/node-server';
import express from 'express';
import { fastify } from 'fastify';
import { createLimiter, type LimiterPolicy, RateLimiter } from 'floodgate';
import { rateLimit as forExpress } from 'floodgate/express';
import { limitHook } from 'floodgate/fastify';
import { rateLimit as forHono } from 'floodgate/hono';
import { limitRequests } from 'floodgate/http';
import { Hono } from 'hono';
import { streamSSE } from 'hono/streaming';
import { partsOf } from '../../../libs/floodgate/src/limiter/limiter-parts.js';
import { CapturedLogs } from '../../support/http-app.js';
import { POLICIES, stage, type Work } from '../support/stage.js';
import type { Served, Transport } from '../support/transport.js';
import { CountedConnections } from './connections.js';
import { ANSWER, endingOfResponse, Http1Client } from './http1.js';

/** Starts a server whose routes are `/work`, `/queue` and `/stream`, each behind the gate of the guard. */
type Start = (limiter: RateLimiter) => Promise<{ readonly server: Server; readonly close: () => Promise<unknown> }>;

const WORKS: readonly Work[] = ['work', 'queue', 'stream'];
const policiesOf = (work: Work): readonly LimiterPolicy[] => POLICIES[work] as readonly LimiterPolicy[];
const arrived = async (): Promise<unknown> => stage.gates.guard.pass(true);
const judged = (): void => void stage.judged++;

/** Sends what the handler of a work returns. */
async function handle(work: string, response: ServerResponse): Promise<void> {
  if (work !== 'stream') {
    const body = JSON.stringify(await stage.work());
    response.setHeader('Content-Length', Buffer.byteLength(body));
    response.end(body);
    return;
  }
  response.setHeader('Content-Type', 'text/event-stream');
  for await (const item of stage.items('first', 'last')) response.write(`data: ${item}\n\n`);
  response.end();
}

async function listen(server: Server): ReturnType<Start> {
  if (!server.listening) await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { server, close: () => new Promise((resolve) => server.close(resolve)) };
}

const STARTS: Readonly<Record<string, Start>> = {
  async Node(limiter) {
    const limits = new Map(WORKS.map((work) => [work as string, limitRequests(limiter, policiesOf(work))]));
    const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
      await arrived();
      const work = request.url!.slice(1);
      if (await limits.get(work)!(request, response).finally(judged)) await handle(work, response);
    };
    return listen(createServer((request, response) => void answer(request, response)));
  },
  async Express(limiter) {
    const app = express();
    app.use((_request, _response, next) => void arrived().then(() => next()));
    for (const work of WORKS) {
      const limit = forExpress(limiter, policiesOf(work));
      app.use(`/${work}`, (request, response, next) => {
        const end = response.end.bind(response);
        // The middleware answers, or goes on.
        response.end = ((...args: []) => {
          judged();
          return end(...args);
        }) as typeof end;
        limit(request, response, (error) => {
          response.end = end;
          judged();
          next(error);
        });
      });
      app.get(`/${work}`, (_request, response) => handle(work, response));
    }
    return listen(createServer(app));
  },
  async Fastify(limiter) {
    const app = fastify({ forceCloseConnections: true });
    app.addHook('onRequest', async () => void (await arrived()));
    for (const work of WORKS) {
      const limit = limitHook(limiter, policiesOf(work));
      app.get(`/${work}`, {
        onRequest(request, reply, done) {
          const send = reply.send.bind(reply);
          const answering = Object.create(reply, {
            send: {
              value: (body: object) => {
                judged();
                return send(body);
              },
            },
          }) as typeof reply;
          limit(request, answering, (error) => {
            judged();
            done(error);
          });
        },
        async handler(_request, reply) {
          reply.hijack();
          await handle(work, reply.raw);
        },
      });
    }
    await app.ready();
    await app.listen({ port: 0, host: '127.0.0.1' });
    return { server: app.server, close: () => app.close() };
  },
  async Hono(limiter) {
    const app = new Hono();
    app.use(async (_context, next) => {
      await arrived();
      await next();
    });
    for (const work of WORKS) {
      const limit = forHono(limiter, policiesOf(work));
      app.use(`/${work}`, async (context, next) => {
        let isJudged = false;
        const once = (): void => {
          if (!isJudged) judged();
          isJudged = true;
        };
        return limit(context, async () => {
          once();
          await next();
        }).finally(once);
      });
      app.get(`/${work}`, async (context) => {
        if (work !== 'stream') return context.json((await stage.work()) as object);
        return streamSSE(context, async (stream) => {
          for await (const item of stage.items('first', 'last')) await stream.writeSSE({ data: item });
        });
      });
    }
    const server = await new Promise<Server>((resolve) => {
      const opened = serve({ fetch: app.fetch, port: 0, hostname: '127.0.0.1' }, () => resolve(opened as Server));
    });
    return listen(server);
  },
};

/** Requests of a server without Nest. */
export function withoutNest(name: keyof typeof STARTS): Transport {
  return {
    name: `HTTP/1.1 on ${name} without Nest`,
    value: ANSWER,
    ways: ['FIN', 'RST', 'stays'],
    without: {},
    ending: endingOfResponse(undefined),
    async open({ store, deadline, onDecision, onStoreFailure }): Promise<Served> {
      const logs = new CapturedLogs();
      const limiter = await createLimiter({ store, deadline, onDecision, onStoreFailure, logger: logs });
      await limiter.start();
      const { server, close } = await STARTS[name]!(limiter);
      const connections = new CountedConnections(server);
      const { port } = server.address() as AddressInfo;
      const clients: Http1Client[] = [];
      const parts = { parts: partsOf(limiter, 'test') };
      return {
        app: { get: (token: unknown) => (token === RateLimiter ? limiter : parts) as never },
        logs,
        async client(way) {
          const client = await Http1Client.connect(port, (work) => `GET /${work} HTTP/1.1\r\nHost: x\r\n\r\n`);
          clients.push(client);
          if (way === 'stays') await client.send('work').done;
          return client;
        },
        departed: () => connections.closed,
        listeners: () => connections.listeners(),
        async [Symbol.asyncDispose]() {
          for (const client of clients) client.end();
          await close();
          await limiter.close();
        },
      };
    },
  };
}
