import { shown } from '../../floodgate/src/util/config-error.js';
import { adopted, isPromise } from '../../floodgate/src/util/is-promise.js';
import { RateLimitWaitError } from './errors.js';
import type { CheckedClientOptions, ClientRequest } from './options.js';
import type { Permit } from './partition.js';
import type { Partition } from './partition.js';
import { Partitions } from './partitions.js';
import {
  type Answer,
  type LimitReport,
  mayRepeat,
  readAnswer,
} from '../../floodgate/src/util/responses/read-response.js';

/** Decides when the requests of one client leave. */
export class Governor {
  private readonly partitions: Partitions;
  private calls = 0;

  constructor(readonly options: CheckedClientOptions) {
    this.partitions = new Partitions(options.time, options);
  }

  /** The partitions that the client remembers, for tests of the bound. */
  get size(): number {
    return this.partitions.size;
  }

  /** @throws what the option `partition` throws, or a TypeError when it returns no text */
  begin(request: ClientRequest): Call {
    const name: unknown = this.options.partition(request);
    if (typeof name !== 'string') {
      if (isPromise(name)) adopted(name).catch(() => undefined);
      throw new TypeError(`partition must return text, got ${shown(name)}`);
    }
    return new Call(this.options, request, this.calls++, this.partitions.of(name), () => this.partitions.release(name));
  }
}

/** One call of an application, with all of its attempts. */
export class Call {
  private attempts = 0;
  private waitedMs = 0;
  private status: number | undefined;
  private permit: Permit | undefined;
  private ended = false;

  constructor(
    private readonly options: CheckedClientOptions,
    private readonly request: ClientRequest,
    private readonly order: number,
    private readonly partition: Partition,
    private readonly release: () => void,
  ) {}

  get isOver(): boolean {
    return this.ended;
  }

  /** Whether the next attempt may leave, or is under way. */
  get hasTurn(): boolean {
    return this.permit !== undefined;
  }

  /** Whether the attempt under way is the last one. */
  get isLast(): boolean {
    return this.attempts >= this.options.maxAttempts;
  }

  /**
   * Waits until the next attempt may leave. False when that is not within `maxWait`: at once if that is certain.
   *
   * @throws the signal's reason when it aborts, or what the option `onWait` throws
   */
  async mayLeave(signal: AbortSignal | undefined): Promise<boolean> {
    this.permit = this.partition.tryLeave() ?? (await this.wait(signal));
    if (this.permit === undefined) return false;
    this.attempts++;
    return true;
  }

  /** The attempt had no answer. Does nothing where none is under way. */
  fail(): void {
    this.settle(undefined);
  }

  /** Takes in the answer to the attempt under way. True when one more attempt may follow a wait. */
  answer(answer: Answer): boolean {
    const { time, preemptive, retryUnsafeOn503 } = this.options;
    const told = readAnswer(answer, { preemptive, wallNow: time.wallNow });
    this.status = answer.status;
    this.settle(told);
    if (told?.retryAfterMs === undefined || this.isLast) return false;
    if (told.retryAfterMs > this.leftMs) return false;
    return mayRepeat(answer.status, this.request.method, retryUnsafeOn503);
  }

  /** Has to be called when the call ends. */
  end(): void {
    this.ended = true;
    this.release();
  }

  /** The error of a call that was never answered. */
  lateError(): RateLimitWaitError {
    const { method, url } = this.request;
    return new RateLimitWaitError(method, url.origin + url.pathname, this.partition.waitMs, this.options.maxWaitMs);
  }

  private get leftMs(): number {
    return this.options.maxWaitMs - this.waitedMs;
  }

  private async wait(signal: AbortSignal | undefined): Promise<Permit | undefined> {
    const { request, order, partition, status } = this;
    const { time, onWait } = this.options;
    if (partition.waitMs > this.leftMs) return undefined;
    const returned: unknown = onWait?.({ request, waitMs: partition.waitMs, attempt: this.attempts + 1, status });
    if (isPromise(returned)) adopted(returned).catch(() => undefined); // nothing waits for it
    const since = time.now();
    const permit = await partition.wait({ order, deadline: since + this.leftMs, signal });
    this.waitedMs += time.now() - since;
    return permit;
  }

  private settle(told: LimitReport | undefined): void {
    if (this.permit !== undefined) this.partition.settle(this.permit, told);
    this.permit = undefined;
  }
}
