import { extname } from 'node:path';
import { Child, headOf, START_LIMIT_MS } from '../../processes/child.js';
import type { OpenCall, PodLook, PodOrigins, PodProcedures, Riders } from './pod.main.js';

/** The shortest time between two starts of a process that ends again and again. */
const RESTART_MS = 2_000;
/** A process that does not answer for so long hangs, and is killed. */
const SILENCE_MS = 5_000;

/** A process with one pod or more, which starts again when it has ended. */
export class PodProcess {
  state: 'starting' | 'up' | 'ended' = 'starting';
  /** Why it has ended. */
  problem: string | null = null;
  origins: readonly PodOrigins[] = [];
  /** What the pods said at the last look; empty before it. */
  looks: readonly PodLook[] = [];
  /** Whose buckets `looks` has. */
  lookedFor: Riders | undefined;
  private child: Child<PodProcedures> | undefined;
  private starting: Promise<void> | undefined;
  private startedAt = -Infinity;
  private looking = false;
  /** Kills the process, also one that still starts. */
  private readonly killer = new AbortController();
  private isMemoryUp = true;

  constructor(
    private readonly name: string,
    private readonly call: OpenCall,
  ) {}

  get pods(): number {
    return this.call.pods;
  }

  /** Resolves when the pods answer. @throws Error with the last output of a process that does not start, or after `close` */
  async start(): Promise<void> {
    if (this.isClosed) throw new Error(`${this.name} has ended, since nobody watched`);
    if (this.state === 'up') this.notice();
    if (this.state === 'up') return;
    this.starting ??= this.launch().finally(() => (this.starting = undefined));
    await this.starting;
  }

  /** Starts the process again if it has ended. Otherwise asks for the riders' buckets, without waiting. */
  check(riders: Riders): void {
    if (this.state === 'up') this.notice();
    if (this.state === 'up' && !this.looking) {
      this.looking = true;
      void this.look(riders).finally(() => (this.looking = false));
    }
    const mayStart = this.state === 'ended' && performance.now() - this.startedAt > RESTART_MS;
    if (mayStart && !this.isClosed) this.start().catch(() => undefined); // `state` and `problem` say it
  }

  /** Asks for the riders' buckets, and waits for them, or for the end of a process that hangs. */
  async look(riders: Riders): Promise<void> {
    try {
      this.looks = await this.child!.call('look', riders, SILENCE_MS);
      this.lookedFor = riders;
    } catch {
      this.notice();
    }
  }

  async turnMemory(isUp: boolean): Promise<void> {
    this.isMemoryUp = isUp;
    await this.child?.call('turnMemory', isUp);
  }

  async close(): Promise<void> {
    this.killer.abort();
    await this.starting?.catch(() => undefined);
    await this.child?.[Symbol.asyncDispose]();
  }

  private get isClosed(): boolean {
    return this.killer.signal.aborted;
  }

  private async launch(): Promise<void> {
    this.startedAt = performance.now();
    this.state = 'starting';
    this.looks = [];
    try {
      this.child = await Child.start<PodProcedures>({
        name: this.name,
        // The build has JavaScript, a test run TypeScript.
        script: new URL(`./pod.main${extname(import.meta.url)}`, import.meta.url),
        signal: this.killer.signal,
      });
      this.origins = await this.child.call('open', this.call, START_LIMIT_MS);
      if (!this.isMemoryUp) await this.child.call('turnMemory', false);
      this.state = 'up';
      this.problem = null;
    } catch (error) {
      await this.child?.[Symbol.asyncDispose](); // it may run, and have failed to open
      this.end(error as Error);
      throw error;
    }
  }

  /** Nothing tells of the end of a child, but a call does, or this question. */
  private notice(): void {
    try {
      this.child?.assertRunning();
    } catch (error) {
      this.end(error as Error);
    }
  }

  private end(error: Error): void {
    this.state = 'ended';
    this.problem = headOf(error);
    this.looks = [];
  }
}
