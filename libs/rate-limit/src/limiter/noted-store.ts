import type { Denials } from '../stores/observers.js';
import type { Charge, ChargeVerdict, RateLimitStore, Timer, Verdict } from '../stores/store.js';
import { isPromise } from '../util/is-promise.js';

/** A store whose rejections are noted in a denial cache. `RedisStore` notes its own; this is for any other store. */
export class NotedStore implements RateLimitStore {
  constructor(
    private readonly store: RateLimitStore,
    private readonly denials: Denials,
  ) {}

  get timer(): Timer | undefined {
    return this.store.timer;
  }

  get supports(): RateLimitStore['supports'] {
    return this.store.supports;
  }

  consume(charges: readonly Charge[]): Verdict | Promise<Verdict> {
    const sentAt = performance.now();
    const answer = this.store.consume(charges);
    return isPromise(answer)
      ? Promise.resolve(answer).then((verdict) => this.noted(charges, verdict, sentAt))
      : this.noted(charges, answer, sentAt);
  }

  reset(keys: readonly string[]): void | Promise<void> {
    return this.store.reset(keys);
  }

  /** Undefined where the store has none, as `settle`: the limiter does without. */
  get refund(): RateLimitStore['refund'] {
    const { store } = this;
    return store.refund === undefined ? undefined : (receipts) => store.refund?.(receipts);
  }

  get settle(): RateLimitStore['settle'] {
    const { store } = this;
    return store.settle === undefined ? undefined : (settlements) => store.settle!(settlements);
  }

  async connect(): Promise<void> {
    await this.store.connect?.();
  }

  async close(): Promise<void> {
    await this.store.close?.();
  }

  /** An answer that is no verdict passes through: the limiter reports it. */
  private noted(charges: readonly Charge[], verdict: Verdict, sentAt: number): Verdict {
    if (verdict?.charges?.length === charges.length && !verdict.allowed && verdict.charges.some(isRejection)) {
      this.denials.note(charges, verdict, sentAt);
    }
    return verdict;
  }
}

function isRejection({ allowed }: ChargeVerdict): boolean {
  return !allowed;
}
