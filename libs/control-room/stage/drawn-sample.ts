import type { Answer, RiderRequest } from '../../riders/index.js';
import { kindOf } from './rider-meter.js';
import type { AnsweredRequest, DrawnRequests, SentRequest } from './surge-tick.js';

/** More than that per second look like noise. */
export const MAX_DRAWN_PER_SECOND = 50;

/** Without a viewer no one takes the sample, and older requests are dropped. */
const MAX_KEPT = 400;

/** Chooses the requests of a world that the page draws. It decides when a request is sent, so that each drawn one has its answer. */
export class DrawnSample {
  private oneOf = 1;
  private turn = 0;
  private ids = 0;
  private sent: SentRequest[] = [];
  private answered: AnsweredRequest[] = [];

  /** @param demand requests per second from now on */
  expect(demand: number): void {
    this.oneOf = Math.max(1, Math.ceil(demand / MAX_DRAWN_PER_SECOND));
  }

  /** @returns the function to call with the answer; undefined: the request is not drawn */
  note(
    { route, riderId }: RiderRequest,
    isFollowed: boolean,
    atMs: number,
  ): ((answer: Answer, atMs: number) => void) | undefined {
    if (!isFollowed && this.turn++ % this.oneOf !== 0) return undefined;
    const id = ++this.ids;
    keep(this.sent, { id, route, rider: riderId, isFollowed, atMs });
    return ({ status, policy = null, retryAfterMs = null }, answeredAtMs) => {
      keep(this.answered, { id, atMs: answeredAtMs, outcome: kindOf(status), status, retryAfterMs, policy });
    };
  }

  /** The requests and answers since the last call. */
  take(): DrawnRequests {
    const { oneOf, sent, answered } = this;
    this.sent = [];
    this.answered = [];
    return { oneOf, sent, answered };
  }
}

function keep<T>(things: T[], thing: T): void {
  things.push(thing);
  if (things.length > MAX_KEPT) things.shift();
}
