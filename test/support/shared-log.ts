import type { ReservationClaim, ReservationLog } from '../../libs/floodgate/src/stores/reservation-log.js';
import type { ChargeSettlement } from '../../libs/floodgate/src/stores/store.js';

/** What becomes of a call: it arrives, or it does nothing. */
type LogOutcome = 'well' | 'lost';

/** A reservation log that several processes of a test share, in this process. */
export class SharedLog implements ReservationLog {
  readonly entries = new Map<string, { readonly settlements: readonly ChargeSettlement[]; readonly dueAt: number }>();
  added = 0;

  /**
   * @param now microseconds
   * @param step lets others go first, and says what becomes of a call
   * @param most how many reservations there may be
   */
  constructor(
    private readonly now: () => number,
    private readonly step: (what: string) => Promise<LogOutcome> = async () => 'well',
    private readonly most = Infinity,
  ) {}

  add(settlements: readonly ChargeSettlement[], dueAt: number): ReturnType<ReservationLog['add']> {
    const id = String(this.added++);
    let isFull = false;
    const written = this.call('add', () => {
      isFull = this.entries.size >= this.most;
      if (isFull) throw new Error(`${this.most} reservations are open`);
      this.entries.set(id, { settlements, dueAt });
    });
    const failed = written.then(
      () => false,
      () => true,
    );
    const claim = async (): Promise<ReservationClaim> => {
      const isUnknown = await failed;
      if (isFull || (await this.call('claim', () => this.entries.delete(id)))) return 'own';
      return isUnknown ? 'unknown' : 'taken';
    };
    return { written, claim };
  }

  async takeDue(): ReturnType<ReservationLog['takeDue']> {
    const taken = await this.call('take', () => {
      const due = [...this.entries].filter(([, { dueAt }]) => dueAt <= this.now());
      for (const [id] of due) this.entries.delete(id);
      return due.map(([, { settlements }]) => settlements);
    });
    return { taken, more: false, malformed: 0 };
  }

  private async call<T>(what: string, run: () => T): Promise<T> {
    const outcome = await this.step(what);
    if (outcome === 'lost') throw new Error('lost');
    return run();
  }
}
