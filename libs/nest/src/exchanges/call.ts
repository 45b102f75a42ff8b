import type { ExecutionContext } from '@nestjs/common';
import { tracked } from './iteration.js';

const CALL = Symbol('rate limit call');

/** The handlers of the module's middleware: their requests reach another handler later. */
export const BEFORE_ROUTING = new WeakSet<object>();

/** A listener to one call of a handler. */
export interface CallListener {
  began?(): void;
  ended(): void;
}

/** One call of a handler, as its interceptor reports it to listeners. */
export class Call {
  error: unknown;
  /** What the handler returned; for a stream, the last value. */
  value: unknown;
  /** Whether the handler has ended, or was left out. */
  isOver = false;
  /** Whether the consumer of an iteration stopped it. */
  wasStopped = false;
  /** Whether the call lasts until the iteration of its result ends, as with a subscription. */
  iterates = false;
  private isIterating = false;
  private readonly listeners: CallListener[] = [];
  /** The call of another handler of the same request: one that passed it on with `next()`. */
  private other: Call | undefined;

  /** @param handler undefined for a request that has not been routed yet */
  private constructor(private handler: object | undefined) {}

  /**
   * The call of the context's handler, if a listener waits for it. It is kept on the request for HTTP, and on the arguments in
   * other contexts.
   */
  static of(context: ExecutionContext): Call | undefined {
    const first = (placeOf(context) as { readonly [CALL]?: Call })[CALL];
    if (first === undefined) return undefined;
    const handler = context.getHandler();
    if (BEFORE_ROUTING.has(handler)) return first;
    // The middleware waits for the first handler that the request reaches.
    first.handler ??= handler;
    let call: Call | undefined = first;
    while (call !== undefined && call.handler !== handler) call = call.other;
    return call;
  }

  /** The call of the context's handler, created for its first listener. */
  static for(context: ExecutionContext): Call {
    const known = Call.of(context);
    if (known !== undefined) return known;
    const place = placeOf(context) as { [CALL]?: Call };
    const handler = context.getHandler();
    const call = new Call(BEFORE_ROUTING.has(handler) ? undefined : handler);
    call.other = place[CALL];
    return (place[CALL] = call);
  }

  listen(listener: CallListener): void {
    this.listeners.push(listener);
  }

  began(): void {
    // An interceptor around it may call the handler again, such as a retry.
    this.error = undefined;
    this.value = undefined;
    for (const listener of this.listeners) listener.began?.();
  }

  /** Notes what the handler returned. Returns what its caller gets. */
  returned(value: unknown): unknown {
    if (!this.iterates) {
      this.value = value;
      return value;
    }
    const iterated = tracked(value, {
      next: (item) => {
        this.value = item;
      },
      failed: (error) => {
        this.error = error;
      },
      ended: (wasStopped) => {
        this.wasStopped = wasStopped;
        this.end();
      },
    });
    if (iterated === undefined) this.value = value;
    else this.isIterating = true;
    return iterated ?? value;
  }

  threw(error: unknown): void {
    this.error = error;
  }

  /**
   * Notes that the handler has ended. Its call continues while its result is iterated.
   *
   * @param wasStopped whether its answer was no longer awaited, for example after another interceptor's timeout
   */
  handled(wasStopped = false): void {
    if (this.isIterating) return;
    this.wasStopped = wasStopped;
    this.end();
  }

  /** Notes that the handler is not called: the guard rejects the request after it was charged. */
  abandoned(): void {
    this.end();
  }

  private end(): void {
    if (this.isOver) return;
    this.isOver = true;
    for (const listener of this.listeners) listener.ended();
  }
}

function placeOf(context: ExecutionContext): object {
  // The arguments of a `ContextView` are those of its context.
  return context.getType<string>() === 'http' ? context.getArgByIndex<object>(0) : context.getArgs();
}
