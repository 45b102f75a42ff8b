import type { Scheduler } from '../time/scheduler.js';
import { BEGINNING } from '../time/virtual-globals.js';

/** What a call costs the one thread of Redis, in microseconds of CPU time. Measured; the README says how. */
export interface ServiceCosts {
  /** Of the call itself. */
  readonly call: number;
  /** Of each row. */
  readonly row: number;
}

/** Stands in the place of a script: forgets the states of the keys. */
export const DELETE = 'DEL';

/** A call of a script, or `DELETE`. */
export interface Call {
  readonly script: string;
  readonly keys: readonly string[];
  readonly args: readonly string[];
}

/** What a call did. */
export interface Executed {
  readonly reply: unknown;
  /** Requests that differed, which were decided one by one. */
  readonly rows: number;
}

/** Runs scripts on the state of one server. */
export interface Executor {
  /**
   * @param now microseconds since 1970
   * @throws {Error} as Redis answers with an error
   */
  execute(call: Call, now: number): Executed;
  /** Forgets the programs that it has run by their text. Undefined: it knows them all. */
  forgetPrograms?(): void;
}

/** A Redis server: one thread that serves calls in the order of their arrival. */
export class RedisServer {
  /** When the thread has served all calls that have arrived. */
  private freeAt = 0;
  private up = true;
  private cpu = 0;
  private served = 0;
  private servedRows = 0;
  /** Microseconds by which its wall clock is ahead. */
  private ahead = 0;
  /** Increases whenever the server goes away: what it had not answered is lost. */
  private life = 0;

  constructor(
    private readonly scheduler: Scheduler,
    private readonly executor: Executor,
    private readonly costs: ServiceCosts,
  ) {}

  get isUp(): boolean {
    return this.up;
  }

  /** Calls that were served. */
  get calls(): number {
    return this.served;
  }

  /** Rows of these calls. */
  get rows(): number {
    return this.servedRows;
  }

  /** Microseconds of CPU time. */
  get cpuTime(): number {
    return this.cpu;
  }

  /** A call has arrived: executes it when the thread is free, and answers when it is done. */
  receive(call: Call, answer: (at: number, reply: unknown) => void): void {
    if (!this.up) return;
    const begins = Math.max(this.scheduler.now, this.freeAt);
    // Nothing comes between now and then: calls are served in the order of their arrival.
    let reply: unknown;
    let rows = 1;
    try {
      ({ reply, rows } = this.executor.execute(call, BEGINNING + Math.floor(begins + this.ahead)));
    } catch (error) {
      reply = error;
    }
    const service = this.costs.call + rows * this.costs.row;
    this.freeAt = begins + service;
    this.cpu += service;
    this.served++;
    this.servedRows += rows;
    const { life } = this;
    this.scheduler.at(this.freeAt, () => {
      if (this.life === life) answer(this.scheduler.now, reply);
    });
  }

  /** Goes away: what has not been answered never is. The states stay, as with persistence. */
  stop(): void {
    this.up = false;
    this.life++;
  }

  start(): void {
    this.up = true;
    this.freeAt = this.scheduler.now;
    this.flush();
  }

  /** SCRIPT FLUSH. */
  flush(): void {
    this.executor.forgetPrograms?.();
  }

  /** Serves nothing for so many microseconds: what arrives meanwhile is served late. */
  hang(microseconds: number): void {
    this.freeAt = Math.max(this.scheduler.now + microseconds, this.freeAt);
  }

  /** Its wall clock steps by so many microseconds. */
  stepClock(microseconds: number): void {
    this.ahead += microseconds;
  }
}
