import { setTimeout } from '../../libs/floodgate/src/util/real-timers.js';
import type { Decision } from '../../libs/floodgate/src/policy/decision.js';
import type { Asked } from './history.js';

/** What a strategy notes of a request. */
export class Work {
  constructor(
    private readonly asked: Asked,
    private readonly now: () => number,
    private readonly note: (asked: Asked) => void,
  ) {
    note(asked);
  }

  /** Another request of the same client, at once. */
  again(): Work {
    const { ask, process } = this.asked;
    return new Work({ ask, process, askedAt: this.now() }, this.now, this.note);
  }

  decided(decision: Decision): void {
    this.asked.decided = { at: this.now(), value: decision };
  }

  /** Waits for the work. Resolves to false if nobody will say that it has ended. */
  async done(): Promise<boolean> {
    const { workMs, ending } = this.asked.ask;
    if (ending === 'never') return false;
    await new Promise<void>((resolve) => void setTimeout(resolve, workMs));
    return true;
  }

  /** The work has ended, and says so. Returns its final cost. */
  ends(): number {
    const { ending, finalCost: settled } = this.asked.ask;
    const finalCost = ending === 'cancel' ? 0 : settled;
    this.asked.ending = { at: this.now(), finalCost };
    return finalCost;
  }

  ended(value?: { readonly settledBy: string; readonly expired?: true }): void {
    this.asked.ended = { at: this.now(), ...(value && { value }) };
  }

  failed(error: Error): void {
    if (this.asked.decided === undefined) this.asked.decided = { at: this.now(), error };
    else this.asked.ended = { at: this.now(), error };
  }
}
