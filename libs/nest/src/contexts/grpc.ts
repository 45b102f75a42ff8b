import type { ArgumentsHost, ExecutionContext } from '@nestjs/common';
import type { Client } from 'floodgate';
import type { EndListener, Exchange } from 'floodgate/internal';
import { Ending, EventWatch, peerAddress, whenGone } from 'floodgate/internal-boot';
import type { Call } from '../exchanges/call.js';
import type { ContextRequest, RateLimitException } from './context-adapter.js';
import { rejectionOf, type RejectionReason } from './rejection.js';

/** The part of grpc-js's `Metadata` that is used here. */
interface Metadata {
  getMap(): Readonly<Record<string, unknown>>;
  get(key: string): readonly (string | Buffer)[];
  set(key: string, value: string | Buffer): void;
}

/** What the server's calls of grpc-js have in common. Those with a stream of answers emit an error as their status. */
export interface GrpcCall {
  readonly metadata: Metadata;
  readonly cancelled: boolean;
  getPeer(): string;
  on(event: string, listener: () => void): unknown;
  off(event: string, listener: () => void): unknown;
  emit(event: 'error', status: GrpcStatus): unknown;
}

/** An error that grpc-js sends as the status of a call. */
export interface GrpcStatus {
  readonly code: number;
  readonly message: string;
  readonly metadata: Metadata;
}

/** Codes of gRPC. Source: https://grpc.io/docs/guides/status-codes/ */
const CODES: Readonly<Record<RejectionReason, number>> = {
  RATE_LIMIT_ADDRESS_BLOCKED: 7, // PERMISSION_DENIED
  RATE_LIMIT_EXCEEDED: 8, // RESOURCE_EXHAUSTED
  RATE_LIMIT_UNAVAILABLE: 14, // UNAVAILABLE
  LOAD_SHED: 14,
  RATE_LIMIT_IDENTITY_MISSING: 16, // UNAUTHENTICATED
};

/**
 * The longest wait that is left to the client's own retries. With a longer wait, a client that retries would hold the call
 * until its deadline, and never show the status with the reason.
 */
const LONGEST_PUSHBACK_MS = 60_000;

/** The gRPC call. Nest passes it third, after request and metadata. A handler of `@GrpcStreamCall` gets it first. */
export function grpcCallOf(host: ArgumentsHost): GrpcCall | undefined {
  return [host.getArgByIndex<unknown>(2), host.getArgByIndex<unknown>(0)].find(isCall);
}

/** Whether the handler answers the call itself: Nest then handles no error of a guard. */
export function answersItself(host: ArgumentsHost): boolean {
  return isCall(host.getArgByIndex<unknown>(0));
}

/** Whether it is a handler of `@GrpcStreamCall`, by what the decorator leaves on it. */
export function isStreamCall(handler: object): boolean {
  const patterns = Reflect.getMetadata('microservices:pattern', handler) as readonly unknown[] | undefined;
  return patterns?.some((pattern) => Object(pattern).streaming === 'pt_stream') ?? false;
}

/** The request of a gRPC call. Its headers are the metadata, and its address is that of the connection. */
export function grpcRequest(call: GrpcCall): ContextRequest {
  const headers: Record<string, string> = {};
  const rawHeaders: string[] = [];
  for (const name of Object.keys(call.metadata.getMap())) {
    const values = call.metadata.get(name).filter((value) => typeof value === 'string');
    if (values.length === 0) continue;
    headers[name] = values.join(',');
    // gRPC may join repeated values with a comma: each repetition would otherwise make a new identity.
    rawHeaders.push(name, headers[name].split(',', 1)[0]!.trim());
  }
  const remoteAddress = peerAddress(call.getPeer());
  return remoteAddress === undefined ? { headers } : { headers, rawHeaders, socket: { remoteAddress } };
}

const cancelling = new EventWatch('cancelled');
const finishing = new EventWatch('finish');

/**
 * The client of a call. It leaves when it cancels the call, the call's deadline passes, or the connection closes. grpc-js
 * reports this for answered calls, too.
 */
export class GrpcClient implements Client {
  constructor(private readonly call: GrpcCall) {}

  get gone(): boolean {
    return this.call.cancelled || hasLostPeer(this.call);
  }

  onGone(listener: () => void): () => void {
    return cancelling.add(this.call, listener);
  }
}

/**
 * Whether the connection was reset before the address of the client could be read. A UNIX domain socket has no address at
 * either end. Older versions of grpc-js do not tell the server's own address.
 */
function hasLostPeer(call: GrpcCall): boolean {
  const { call: inner } = call as { readonly call?: { getConnectionInfo?(): { readonly localAddress?: string } } };
  return peerAddress(call.getPeer()) === undefined && inner?.getConnectionInfo?.().localAddress !== undefined;
}

/**
 * A call of `@GrpcStreamCall`. Its handler returns while the call is still running: the call ends with the stream of answers,
 * or with the one answer that the handler gives its callback.
 */
export class StreamCallExchange implements Exchange {
  constructor(
    private readonly context: ExecutionContext,
    readonly call: Call,
    readonly client: Client,
  ) {}

  onEnd(listener: EndListener): void {
    const ending = new Ending(this.call, listener);
    const args = this.context.getArgs<unknown[]>();
    const [stream, answer] = args as [GrpcCall, unknown];
    let unwatch = (): void => {};
    const end = (aborted: boolean): void => {
      unwatch();
      unfinish();
      ending.end(undefined, aborted);
    };
    const unfinish = finishing.add(stream, () => end(false));
    if (typeof answer === 'function') {
      args[1] = (error: unknown, value: unknown, ...rest: unknown[]): unknown => {
        if (error !== null && error !== undefined) this.call.threw(error);
        else this.call.value = value;
        end(false);
        return Reflect.apply(answer, undefined, [error, value, ...rest]);
      };
    }
    listener.began?.();
    unwatch = whenGone(this.client, () => end(true));
  }

  /** The rejection ends the stream. */
  abandon(): void {}
}

/**
 * A rejection as the status of a call: RESOURCE_EXHAUSTED, UNAVAILABLE or UNAUTHENTICATED. Its metadata say when to retry, three
 * times: `retry-after` for people, `grpc-retry-pushback-ms` for a client with a retry policy (-1 keeps it from retrying), and
 * google.rpc's details for a client that reads these.
 *
 * Sources: https://github.com/grpc/proposal/blob/master/A6-client-retries.md,
 * https://github.com/googleapis/googleapis/blob/master/google/rpc/error_details.proto
 */
export function grpcStatus(exception: RateLimitException, call: GrpcCall): GrpcStatus {
  const { reason, policy, retryAfterMs } = rejectionOf(exception);
  const code = CODES[reason];
  // The class that the application's own grpc-js has: its server calls methods that another copy may lack.
  const metadata = new (call.metadata.constructor as new () => Metadata)();
  if (retryAfterMs !== null) metadata.set('retry-after', String(Math.ceil(retryAfterMs / 1000)));
  const pushed = retryAfterMs !== null && retryAfterMs <= LONGEST_PUSHBACK_MS;
  metadata.set('grpc-retry-pushback-ms', pushed ? String(Math.ceil(retryAfterMs)) : '-1');
  const details = [any('ErrorInfo', errorInfo(reason, policy))];
  if (retryAfterMs !== null) details.push(any('RetryInfo', message(1, duration(retryAfterMs))));
  metadata.set(
    'grpc-status-details-bin',
    Buffer.concat([integer(1, code), text(2, exception.message), ...details.map((detail) => message(3, detail))]),
  );
  return { code, message: exception.message, metadata };
}

function isCall(value: unknown): value is GrpcCall {
  return typeof (value as Partial<GrpcCall> | null | undefined)?.getPeer === 'function';
}

// Protocol Buffers, as far as google.rpc.Status needs them. Source: https://protobuf.dev/programming-guides/encoding/

function errorInfo(reason: string, policy: string | undefined): Buffer {
  const fields = [text(1, reason), text(2, 'nestjs-floodgate')];
  if (policy !== undefined) fields.push(message(3, Buffer.concat([text(1, 'policy'), text(2, policy)])));
  return Buffer.concat(fields);
}

function duration(ms: number): Buffer {
  const us = Math.ceil(ms * 1000);
  return Buffer.concat([integer(1, Math.floor(us / 1_000_000)), integer(2, (us % 1_000_000) * 1000)]);
}

function any(type: string, value: Buffer): Buffer {
  return Buffer.concat([text(1, `type.googleapis.com/google.rpc.${type}`), message(2, value)]);
}

function text(field: number, value: string): Buffer {
  return message(field, Buffer.from(value));
}

function message(field: number, value: Buffer): Buffer {
  return Buffer.concat([varint(field * 8 + 2), varint(value.length), value]);
}

function integer(field: number, value: number): Buffer {
  return Buffer.concat([varint(field * 8), varint(value)]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let rest = value; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Buffer.from([...bytes, rest]);
    bytes.push((rest % 128) + 128);
  }
}
