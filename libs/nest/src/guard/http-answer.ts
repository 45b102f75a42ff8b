import type { AbstractHttpAdapter } from '@nestjs/core';
import type { Decision } from 'floodgate';
import type { Header, HeaderSettings } from 'floodgate/internal';
import {
  type besideEarlier,
  decisionHeaders,
  DRAFT,
  retryAfterSeconds,
  X_RATE_LIMIT,
  X_RATE_LIMIT_ESTIMATED,
} from 'floodgate/internal-boot';

/**
 * Fastify sends every name in lower case. Converting a name makes a new text in each response, which V8 then has to look up among
 * all names: that is half of what setting the header costs.
 */
const LOWER_CASE: ReadonlyMap<string, string> = new Map(
  [...X_RATE_LIMIT, X_RATE_LIMIT_ESTIMATED, ...DRAFT].map((name) => [name, name.toLowerCase()]),
);

interface NodeResponse {
  setHeader(name: string, value: string): unknown;
}

/**
 * Sets the headers that the module's options ask for on the response to an allowed or rejected request. No cache may store a
 * rejection (RFC 6585, section 4).
 *
 * @param beside combines them with the headers that the response already has; default replaces those
 */
export function setDecisionHeaders(
  adapter: AbstractHttpAdapter,
  response: unknown,
  decision: Decision,
  settings: HeaderSettings,
  beside?: typeof besideEarlier,
): void {
  // An exception of the application may carry a decision without policies.
  let headers = decision.policies.length > 0 ? decisionHeaders(decision, Date.now(), settings) : [];
  if (beside !== undefined) headers = beside(headers, (name) => givenHeader(adapter, response, name));
  if (!decision.allowed) {
    if (decision.retryAfterMs !== null) headers = [...headers, retryAfter(retryAfterSeconds(decision.retryAfterMs))];
    forbidStoring(adapter, response);
  }
  setHeaders(adapter, response, headers);
}

/**
 * Sets the headers of a request that could not be decided on.
 *
 * @param seconds whole seconds after which the client may try again
 */
export function setRetryAfter(adapter: AbstractHttpAdapter, response: unknown, seconds: number): void {
  forbidStoring(adapter, response);
  setHeaders(adapter, response, [retryAfter(seconds)]);
}

function retryAfter(seconds: number): Header {
  return ['Retry-After', String(seconds)];
}

function setHeaders(adapter: AbstractHttpAdapter, response: unknown, headers: readonly Header[]): void {
  if (headers.length === 0) return;
  const node = asNodeResponse(response);
  const lowers = node === undefined && adapter.getType() === 'fastify';
  // The pairs are not destructured: each response would pay for an iterator over each pair.
  for (const header of headers) {
    if (node !== undefined) node.setHeader(header[0], header[1]);
    else adapter.setHeader(response, lowers ? (LOWER_CASE.get(header[0]) ?? header[0]) : header[0], header[1]);
  }
}

/** Forbids caches to store the response. A `Cache-Control` of the application that forbids it, too, stays. */
function forbidStoring(adapter: AbstractHttpAdapter, response: unknown): void {
  const given = givenHeader(adapter, response, 'Cache-Control');
  if (given === undefined || !/\bno-store\b/i.test(given)) setHeader(adapter, response, 'Cache-Control', 'no-store');
}

function givenHeader(adapter: AbstractHttpAdapter, response: unknown, name: string): string | undefined {
  const given = adapter.getHeader(response, name) as string | number | readonly string[] | undefined;
  return given === undefined ? undefined : String(given);
}

export function setHeader(adapter: AbstractHttpAdapter, response: unknown, name: string, value: string): void {
  const node = asNodeResponse(response);
  if (node === undefined) adapter.setHeader(response, name, value);
  else node.setHeader(name, value);
}

/** Node's own response, which Fastify's middleware gets: the adapter of Nest 11 fails on it. */
function asNodeResponse(response: unknown): NodeResponse | undefined {
  const { header, setHeader: set } = response as { readonly header?: unknown; readonly setHeader?: unknown };
  return header === undefined && set !== undefined ? (response as NodeResponse) : undefined;
}
