import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { CLIENT_CLOSED_REQUEST } from './client-signal.js';

/** A request that ended. */
export interface HttpAnswer {
  readonly method: string;
  /** The route's pattern, as clients can invent any number of paths; `none` without a route. */
  readonly route: string;
  /** `CLIENT_CLOSED_REQUEST`: the client left before the answer. */
  readonly status: number;
  readonly tookMs: number;
}

/** The property of Node's request that holds Fastify's route. Express sets `route` itself. */
const ROUTE = Symbol('route');

type RoutedRequest = IncomingMessage & { readonly route?: { readonly path?: unknown }; [ROUTE]?: string | undefined };

/** The part of a Fastify instance that this file uses. Its hooks run after routing. */
interface Fastify {
  addHook(
    name: 'onRequest',
    hook: (request: { raw: RoutedRequest; routeOptions: { url?: string } }, reply: unknown, done: () => void) => void,
  ): void;
}

/**
 * Tells of every request that ends at this server. An interceptor would miss requests that a guard rejects, that cannot be parsed or
 * that have no route.
 */
@Injectable()
export class HttpAnswers implements OnModuleInit {
  private readonly listeners: ((answer: HttpAnswer) => void)[] = [];

  constructor(private readonly adapterHost: HttpAdapterHost) {}

  listen(listener: (answer: HttpAnswer) => void): void {
    this.listeners.push(listener);
  }

  onModuleInit(): void {
    const { httpAdapter } = this.adapterHost;
    const server = httpAdapter.getHttpServer() as Server;
    server.prependListener('request', (request, response) => this.time(request, response));
    if (httpAdapter.getType() !== 'fastify') return;
    httpAdapter.getInstance<Fastify>().addHook('onRequest', ({ raw, routeOptions }, _, done) => {
      raw[ROUTE] = routeOptions.url;
      done();
    });
  }

  private time(request: RoutedRequest, response: ServerResponse): void {
    const since = performance.now();
    response.once('close', () => {
      const { method = '' } = request;
      const status = response.headersSent ? response.statusCode : CLIENT_CLOSED_REQUEST;
      const answer = { method, route: routeOf(request), status, tookMs: performance.now() - since };
      for (const listener of this.listeners) listener(answer);
    });
  }
}

function routeOf(request: RoutedRequest): string {
  const path = request[ROUTE] ?? request.route?.path;
  return typeof path === 'string' ? path : 'none';
}
