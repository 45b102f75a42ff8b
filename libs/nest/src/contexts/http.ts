import { httpClient, type HttpRequest } from 'floodgate/internal';
import { isRoute } from '../handlers/route.js';
import type { ContextAdapter } from './context-adapter.js';

/**
 * Routes of controllers, server-sent events among them. The guard handles this context itself, by the same rules and without an
 * allocation for each request; this adapter describes it for boot checks and other code.
 */
export const HTTP: ContextAdapter = {
  type: 'http',
  handlers: 'a route',
  place: 'controllers',
  isHandler: (_, handler) => isRoute(handler),
  request: (context) => context.getArgByIndex<HttpRequest>(0),
  response: (context) => context.getArgByIndex<unknown>(1),
  client: (context) => httpClient(context.getArgByIndex<HttpRequest>(0), context.getArgByIndex<unknown>(1)),
  ends: () => 'response',
};
