import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { Histogram, Registry } from 'prom-client';

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

/** From a cached answer to a request that waited in a queue as long as it could. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

/**
 * Measures the duration of requests at the server. An interceptor would miss requests that a guard rejects, that cannot be
 * parsed or that have no route.
 */
@Injectable()
export class HttpMetrics implements OnModuleInit {
  private readonly durations: Histogram<'method' | 'route' | 'status'>;

  constructor(
    registry: Registry,
    private readonly adapterHost: HttpAdapterHost,
  ) {
    this.durations = new Histogram({
      name: 'ride_hailing_http_request_duration_seconds',
      help: 'Time until a request was answered',
      labelNames: ['method', 'route', 'status'],
      buckets: BUCKETS,
      registers: [registry],
    });
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
      // 499, as proxies use it: the client closed the connection before the answer.
      const status = response.headersSent ? response.statusCode : 499;
      this.durations.observe({ method, route: routeOf(request), status }, (performance.now() - since) / 1000);
    });
  }
}

/** The route's pattern. Clients can invent any number of paths. */
function routeOf(request: RoutedRequest): string {
  const path = request[ROUTE] ?? request.route?.path;
  return typeof path === 'string' ? path : 'none';
}
