import type { ExecutionContext } from '@nestjs/common';
import type { Client, Decision } from 'floodgate';
import type { Exchange, PartOfExecution, PolicyCharge, TrustsHop } from 'floodgate/internal';
import {
  clientAddress,
  type Execution,
  type RequestRecord,
  ResponseExchange,
  UNSEEN_CLIENT,
} from 'floodgate/internal-boot';
import { Call } from '../exchanges/call.js';
import { CallExchange, ConnectionExchange } from '../exchanges/exchanges.js';
import type { ContextAdapter, ContextRequest, RateLimitException } from './context-adapter.js';
import { IS_VIEW } from './is-view.js';

/**
 * A context other than HTTP, as the guard's steps and the functions of policies get it: `switchToHttp().getRequest()` is the
 * adapter's request. Nest's own would be the first argument of the handler, which is a payload in messages: a resolver that
 * reads `request.user` would then believe whatever the client has written there.
 */
export class ContextView implements ExecutionContext, PartOfExecution {
  private known: ContextRequest | undefined;
  private charges: readonly PolicyCharge[] | undefined;

  /**
   * @param record the record of the operation, which all its handlers share
   * @param trusts which proxies may name a client
   */
  constructor(
    private readonly context: ExecutionContext,
    readonly adapter: ContextAdapter,
    readonly record: RequestRecord,
    private readonly trusts: () => TrustsHop,
  ) {}

  get [IS_VIEW](): true {
    return true;
  }

  /** The view of this call with a new request: some adapters build the request from the current state. */
  renewed(): ContextView {
    return new ContextView(this.context, this.adapter, this.record, this.trusts);
  }

  /** The execution that `UserFunctions` checks. */
  get execution(): Execution {
    return this.record.execution;
  }

  /** Notes what the call asks of its policies. Returns the record of its operation. */
  asks(charges: readonly PolicyCharge[]): RequestRecord {
    this.charges = charges;
    return this.record;
  }

  /**
   * The decision by which the call has passed, with the call's own policies out of those of its operation. Undefined if no policy has
   * let the call pass.
   */
  get decision(): Decision | undefined {
    return this.charges && this.record.passedBy(this.charges);
  }

  get request(): ContextRequest {
    return (this.known ??= this.withAddress(this.adapter.request(this.context)));
  }

  get response(): unknown {
    return this.adapter.response?.(this.context);
  }

  get client(): Client {
    return this.adapter.client?.(this.context) ?? UNSEEN_CLIENT;
  }

  /** The exchange of the call. */
  get exchange(): Exchange {
    const { client, adapter } = this;
    const call = Call.for(this);
    const own = adapter.exchange?.(this.context, call, client);
    if (own !== undefined) return own;
    const end = adapter.ends?.(this.context) ?? 'handler';
    if (end === 'client') return new ConnectionExchange(call, client);
    if (end === 'response') {
      const { response } = this;
      if (response !== undefined) return new ResponseExchange(this.request, response, call, call, client);
    }
    call.iterates = end === 'iteration';
    return new CallExchange(call, client);
  }

  toError(exception: RateLimitException): unknown {
    return this.adapter.toError === undefined ? exception : this.adapter.toError(exception, this.context);
  }

  /** Adds the address that the platform determines. Node's own request only has the address of its connection. */
  private withAddress(request: ContextRequest): ContextRequest {
    if (request.ip !== undefined) return request;
    const isForwarded = request.headers['x-forwarded-for'] !== undefined;
    const ip = isForwarded ? clientAddress(request, this.trusts()) : request.socket?.remoteAddress;
    if (ip === undefined) return request;
    // The members of Node's own request are getters of its prototype, which a copy would lack.
    return isPlain(request) ? { ...request, ip } : (Object.create(request, { ip: { value: ip } }) as ContextRequest);
  }

  // Nest's methods have type parameters of the caller's choice: `never` fits each of them.

  getType(): never {
    return this.context.getType() as never;
  }

  getClass(): never {
    return this.context.getClass() as never;
  }

  getHandler(): ReturnType<ExecutionContext['getHandler']> {
    return this.context.getHandler();
  }

  getArgs(): never {
    return this.context.getArgs() as never;
  }

  getArgByIndex(index: number): never {
    return this.context.getArgByIndex(index) as never;
  }

  switchToRpc(): ReturnType<ExecutionContext['switchToRpc']> {
    return this.context.switchToRpc();
  }

  switchToWs(): ReturnType<ExecutionContext['switchToWs']> {
    return this.context.switchToWs();
  }

  switchToHttp(): ReturnType<ExecutionContext['switchToHttp']> {
    return {
      getRequest: () => this.request as never,
      getResponse: () => this.response as never,
      getNext: () => undefined as never,
    };
  }
}

function isPlain(request: object): boolean {
  return [Object.prototype, null].includes(Object.getPrototypeOf(request) as object | null);
}
