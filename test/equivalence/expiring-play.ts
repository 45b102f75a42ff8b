import { ReservationClosedError, ReservationsFullError } from '../../libs/rate-limit/src/engine/errors.js';
import type { PolicyCharge } from '../../libs/rate-limit/src/engine/policy-charge.js';
import type { Reservation } from '../../libs/rate-limit/src/engine/settling/reservation.js';
import { type BoundPolicy, bindPolicy } from '../../libs/rate-limit/src/policy/bound-policy.js';
import type { Expiry } from '../../libs/rate-limit/src/policy/expiry.js';
import { keyOf } from '../../libs/rate-limit/src/policy/key.js';
import { parsePolicy } from '../../libs/rate-limit/src/policy/parse-policy.js';
import type { Policy } from '../../libs/rate-limit/src/policy/policy.js';
import type { Clock, Verdict } from '../../libs/rate-limit/src/stores/store.js';
import { MovingClock, periodOf } from '../support/arbitrary-instants.js';
import { costFor } from '../support/arbitrary-policies.js';
import { expectHolds, expectSame } from '../support/expect-same.js';
import { Counterfactual } from './counterfactual.js';
import { type Act, type Ask, type Close, type ExpiringHistory, openFor, type Step } from './expiring-histories.js';
import { ExpiringOracle, type Held, peekAt, type Place } from './expiring-oracle.js';
import { ReservingProcess, type Shared } from './expiring-process.js';

/** Opens what a process shares with the others. */
export type Open = (clock: Clock, maxSkewMs: number) => Shared | Promise<Shared>;

/** A reservation of a caller. */
interface Mine {
  readonly reservation: Reservation;
  readonly held: Held;
}

/** A process, and what its callers hold. */
interface Running {
  readonly process: ReservingProcess;
  open: Mine[];
  readonly closed: Reservation[];
  /** A stalled process runs no timer. */
  isStalled: boolean;
  /** The first call that may be settled by others begins the sweeps. */
  sweeps: boolean;
}

const MANY = 1_000;
const CLIENTS = ['user:ada', 'user:ben'];
/** Compares the answer to an act. */
type Check = () => void | Promise<void>;

/** How a history is played. */
export interface Played {
  readonly open: Open;
  readonly processes: number;
  /** Whether the acts of a turn are one turn of the event loop, or come one after the other. */
  readonly together: boolean;
}

/** Plays a history, and compares with the oracle after each turn. */
export async function playExpiring(history: ExpiringHistory, played: Played): Promise<void> {
  using play = await Play.begin(history, played);
  for (const { move, turn } of history.steps) await play.step(move, turn);
}

class Play {
  private readonly clock: MovingClock;
  private readonly oracle: ExpiringOracle;
  private readonly policies: readonly [BoundPolicy, BoundPolicy];
  private readonly places: readonly (readonly [Place, Place])[];
  private running: Running[] = [];
  /** Looks at the states beside the processes. */
  private shared!: Shared;
  private readonly verdicts: Verdict[] = [];

  private constructor(
    private readonly history: ExpiringHistory,
    private readonly played: Played,
  ) {
    const { policy, second, start, maxSkewMs, overdraws } = history;
    this.clock = new MovingClock(start, 0);
    this.oracle = new ExpiringOracle(this.clock, maxSkewMs);
    const first = bound({ name: 'first', ...policy, ...(overdraws ? {} : { overdraft: 0 }) });
    const other = bound({ name: 'second', algorithm: 'fixed-window', limit: second, window: '1h' });
    this.policies = [first, other];
    const placeOf = (client: string, one: BoundPolicy): Place => ({
      key: keyOf('rl', client, one.keyTail),
      policy: one,
      model: new Counterfactual(one.algorithm),
    });
    this.places = CLIENTS.map((client) => [placeOf(client, first), placeOf(client, other)]);
  }

  static async begin(history: ExpiringHistory, played: Played): Promise<Play> {
    const play = new Play(history, played);
    play.shared = await play.openShared();
    for (let i = 0; i < played.processes; i++) play.running.push(await play.started());
    return play;
  }

  [Symbol.dispose](): void {
    for (const { process } of this.running) process.expiring.stop();
  }

  async step(move: Step, turn: ExpiringHistory['steps'][number]['turn']): Promise<void> {
    await this.advance(move);
    const at = turn.process % this.running.length;
    const running = this.running[at]!;
    if ('acts' in turn) {
      if (this.played.together) await this.perform(running, turn.acts);
      else for (const act of turn.acts) await this.perform(running, [act]);
    } else if (turn.does === 'sweep') {
      if (this.shared.log === undefined) return;
      this.oracle.sweep(this.skew);
      await running.process.sweep();
      await this.settled(running);
    } else if (turn.does === 'die') {
      // The charges of a MemoryStore end with the process.
      if (this.shared.log === undefined) return;
      running.process.expiring.stop();
      for (const held of this.oracle.held) if (held.timedBy === running) held.timedBy = undefined;
      this.running[at] = await this.started();
    } else {
      running.isStalled = turn.does === 'stall';
      await this.runTimers();
    }
    for (const place of this.places.flat()) {
      this.oracle.expectSeen(place, await this.shared.store.consume([peekAt(place)]));
    }
  }

  /** The answers to one turn come in any order: one cannot say which of them finds no room. */
  private get mostOpen(): number {
    return this.played.together ? MANY : this.history.mostOpen;
  }

  private get skew(): number {
    return this.history.maxSkewMs * 1_000;
  }

  private async openShared(): Promise<Shared> {
    return this.played.open(this.clock.read, this.history.maxSkewMs);
  }

  private async started(): Promise<Running> {
    // Processes share Redis, and a process has its own memory.
    const shared = this.shared.log === undefined ? this.shared : await this.openShared();
    const process = new ReservingProcess(shared, this.clock.read, this.mostOpen);
    return { process, open: [], closed: [], isStalled: false, sweeps: false };
  }

  /** Moves the clock from one expiry to the next: each timer runs at its instant. */
  private async advance(move: Step): Promise<void> {
    const { clock, oracle } = this;
    const from = clock.now;
    if ('expiry' in move) {
      const dues = [...oracle.held].flatMap(({ dueAt }) => (dueAt === undefined ? [] : dueAt));
      const due = dues.at(-1 - (move.expiry % Math.max(1, dues.length)));
      if (due === undefined) return;
      clock.move({ by: Math.max(0, due + move.off - from) }, this.policies[0].algorithm, []);
    } else clock.move(move, this.policies[0].algorithm, this.verdicts);
    const to = clock.now;
    for (;;) {
      const awake = this.running.filter(({ isStalled }) => !isStalled);
      const next = Math.min(...awake.flatMap((one) => this.timedBy(one).map(({ dueAt }) => dueAt!)));
      if (next > to) break;
      clock.now = next;
      await this.runTimers();
    }
    clock.now = to;
    await this.runTimers();
  }

  /** What the timer of a process waits for. */
  private timedBy(running: Running): Held[] {
    return [...this.oracle.held].filter(({ timedBy }) => timedBy === running);
  }

  private async runTimers(): Promise<void> {
    for (const running of this.running) {
      if (running.isStalled) continue;
      for (const held of this.timedBy(running)) {
        if (held.dueAt! > this.clock.now) continue;
        held.timedBy = undefined;
        this.oracle.expire(held);
      }
      running.process.runTimer();
      await this.settled(running);
    }
  }

  /** Does these acts in one turn of the event loop, and compares. */
  private async perform(running: Running, acts: readonly Act[]): Promise<void> {
    const asks: Asked[] = [];
    const checks = acts.map((act) => {
      const check = 'client' in act ? this.ask(running, act, asks) : Promise.resolve(this.close(running, act));
      // A store in memory has answered before the next act.
      if (this.shared.log === undefined) this.hear(running, asks);
      return check;
    });
    await this.settled(running, asks);
    for (const check of await Promise.all(checks)) await check?.();
  }

  /** Waits for all answers, and compares. */
  private async settled(running: Running, asks: Asked[] = []): Promise<void> {
    const { process } = running;
    await process.idle();
    this.hear(running, asks);
    expectSame(asks, []);
    this.oracle.expectAllSettled();
    expectSame(process.expiring.queue.size, this.timedBy(running).length);
  }

  /** Tells the oracle what the store was asked, in that order. @param asks those that it was not told so far */
  private hear({ process }: Running, asks: Asked[]): void {
    for (const call of process.takeCalls()) {
      if ('settlements' in call) this.oracle.settled(call.settlements, call.settled!);
      else {
        const asked = asks.shift();
        expectHolds(asked !== undefined, () => call);
        const { places, charges, expiry, told } = asked!;
        expectSame(call.charges.map(shown), charges.map(shown));
        told(this.oracle.asked(places, call.charges, call.verdict!, expiry));
        this.verdicts.push(call.verdict!);
      }
    }
  }

  private async ask(running: Running, act: Ask, asks: Asked[]): Promise<Check | undefined> {
    const { process } = running;
    const { expiring, engine } = process;
    const [first, other] = this.policies;
    const cost = costFor(first.algorithm, act.cost);
    const client = CLIENTS[act.client]!;
    const charges = [engine.charge(first, client, cost, act.mode)];
    if (act.both) charges.push(engine.charge(other, client, Math.min(cost, 2), act.mode));
    const expiry = act.mode === 'take' ? undefined : this.expiryOf(act, cost);
    const places = this.places[act.client]!.slice(0, charges.length);
    const mayRefund = expiry?.finalCost !== undefined;
    if (mayRefund && this.shared.log === undefined && this.timedBy(running).length >= this.mostOpen) {
      const error = await refused(async () => expiring.reserve(charges, expiry));
      return () => expectHolds(error instanceof ReservationsFullError, () => ({ error }));
    }
    if (mayRefund && this.shared.log !== undefined && !running.sweeps) {
      running.sweeps = true;
      this.oracle.sweep(this.skew);
    }
    let held: Held | undefined;
    asks.push({
      places,
      charges,
      expiry,
      told: (made) => {
        held = made;
        if (held?.dueAt === undefined) return;
        if (this.timedBy(running).length < this.mostOpen) held.timedBy = running;
      },
    });
    if (act.mode === 'take') {
      await engine.decide(charges);
      return undefined;
    }
    const reservation = expiry === undefined ? await engine.reserve(charges) : await expiring.reserve(charges, expiry);
    return () => {
      expectSame(reservation.allowed, held !== undefined);
      if (held !== undefined) running.open.push({ reservation, held });
    };
  }

  private expiryOf({ expiry }: Ask, cost: number): Expiry | undefined {
    if (expiry === undefined) return undefined;
    const { rest } = expiry;
    const after = openFor(expiry, periodOf(this.policies[0].algorithm)) * 1_000;
    if (rest === 'keep') return { after, finalCost: undefined };
    return { after, finalCost: rest === 'cancel' ? 0 : Math.floor(cost * rest) };
  }

  private close(running: Running, act: Close): Check | undefined {
    const { open, closed } = running;
    if ('again' in act) {
      const reservation = closed.at(-1 - act.again);
      if (reservation === undefined) return undefined;
      const answer = refused(async () => reservation.cancel());
      return async () => expectHolds((await answer) instanceof ReservationClosedError, () => ({ answer }));
    }
    const at = open.length - 1 - ('settle' in act ? act.settle : act.cancel);
    const [mine] = at < 0 ? [] : open.splice(at, 1);
    if (mine === undefined) return undefined;
    const { reservation, held } = mine;
    closed.push(reservation);
    const finalCost = 'cancel' in act ? 0 : Math.max(0, Math.floor(held.parts[0]!.receipt.cost * act.part) + act.plus);
    const wanted = this.oracle.settle(held, finalCost);
    const answer = 'cancel' in act ? reservation.cancel() : reservation.settle(finalCost);
    return async () => expectSame(await answer, wanted());
  }
}

/** A question of a turn, and who is told the reservation that came of it. */
interface Asked {
  readonly places: readonly Place[];
  readonly charges: readonly PolicyCharge[];
  readonly expiry: Expiry | undefined;
  readonly told: (held: Held | undefined) => void;
}

function bound(policy: Policy): BoundPolicy {
  return bindPolicy(parsePolicy(policy, 'test'), 'rl', 'app', 'test');
}

function shown({ key, cost, mode }: { readonly key: string; readonly cost: number; readonly mode?: string }): object {
  return { key, cost, mode };
}

async function refused(call: () => Promise<unknown>): Promise<unknown> {
  try {
    return await call();
  } catch (error) {
    return error;
  }
}
