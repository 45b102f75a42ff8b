import type { HttpAdapterHost } from '@nestjs/core';
import type { ContextRequest } from './context-adapter.js';

const REPLY = Symbol('reply of Fastify');

interface LinkedRequest {
  [REPLY]?: object;
}

interface FastifyInstance {
  addHook(name: 'onRequest', hook: (request: object, reply: object, done: () => void) => void): unknown;
}

/**
 * Links each request of Fastify to its reply, as Express links them. Apollo's driver gives a GraphQL context the request alone. It is
 * called at boot: a hook of the root counts for all routes, whenever they were added.
 */
export function linkReplies({ httpAdapter }: HttpAdapterHost): void {
  if (httpAdapter?.getType?.() !== 'fastify') return;
  httpAdapter.getInstance<FastifyInstance>().addHook('onRequest', (request, reply, done) => {
    (request as LinkedRequest)[REPLY] = reply;
    done();
  });
}

/** The reply of a request that is linked to it. */
export function replyOf(request: ContextRequest): object | undefined {
  return (request as LinkedRequest)[REPLY];
}
