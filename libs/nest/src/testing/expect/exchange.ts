import type { DecisionEvent, PolicyDecision } from 'floodgate';
import type { Monitor } from 'floodgate/internal-boot';
import type { VirtualClock } from 'floodgate/testing';
import type { HttpClient, LimitReply, LimitRequest } from './http-client.js';

/** One request of an expectation, with what became of it. */
export interface Exchange {
  /** Counts the requests of the expectation from 1. */
  readonly number: number;
  /** Microseconds of the clock at the request. */
  readonly at: number;
  readonly decisions: readonly DecisionEvent[];
  /** Undefined while the request waits for its departure slot. */
  reply: LimitReply | undefined;
  /** The reply to come. */
  readonly later: Promise<LimitReply>;
}

/** Sends the requests of one expectation, one after another, and keeps them. */
export class Exchanges {
  readonly all: Exchange[] = [];

  constructor(
    private readonly client: HttpClient,
    private readonly request: LimitRequest,
    readonly clock: VirtualClock,
    private readonly monitor: Pick<Monitor, 'observe'>,
  ) {}

  /** Sends a request. Resolves when it is answered, or waits for its departure slot. */
  async send(): Promise<Exchange> {
    const { clock, monitor } = this;
    const decisions: DecisionEvent[] = [];
    const unobserve = monitor.observe((event) => void decisions.push(event));
    const before = clock.waiting;
    let unwatch: (() => void) | undefined;
    const delayed = new Promise<undefined>((resolve) => {
      unwatch = clock.watch(() => clock.waiting > before && resolve(undefined));
    });
    const later = this.client.send(this.request);
    later.catch(() => undefined); // a delayed request fails when the application closes
    try {
      const reply = await Promise.race([later, delayed]);
      const number = this.all.length + 1;
      const exchange = { number, at: clock.nowMicroseconds, decisions, reply, later };
      this.all.push(exchange);
      return exchange;
    } finally {
      unwatch?.();
      unobserve();
    }
  }

  /** Awaits the replies to the delayed requests whose slots have come. */
  async settle(): Promise<Exchange[]> {
    const departed = this.all.filter((one) => one.reply === undefined && departsAt(one) <= this.clock.nowMicroseconds);
    for (const exchange of departed) exchange.reply = await exchange.later;
    return departed;
  }
}

/** The policy that rejected a request for the longest time; undefined when none did. */
export function rejectionOf({ decisions }: Exchange): PolicyDecision | undefined {
  const rejected = decisions.find(({ decision }) => !decision.allowed)?.decision;
  return rejected?.policies.find((policy) => !policy.allowed && policy.retryAfterMs === rejected.retryAfterMs);
}

function departsAt({ at, decisions }: Exchange): number {
  return at + Math.max(...decisions.map(({ decision }) => Math.round(decision.delayMs * 1000)));
}
