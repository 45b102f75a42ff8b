import type { WorldHistory } from '../live.js';
import { BusynessMeter } from './busyness.js';
import type { City } from './city.js';
import { rounded } from './recent-answers.js';
import type { Busyness, PhaseFigures, RunPhase, Verdict, WorldId, WorldTick } from './surge-tick.js';
import { type RunTime, WorldRun } from './world-run.js';
import { type OfWorlds, type World, WORLD_IDS } from './world.js';
import type { WorldLook } from './run-world.js';

/** How long each phase takes, in milliseconds. */
export type RunTimes = Readonly<Record<RunPhase, number>>;

export const RUN_TIMES: RunTimes = { surge: 36_000, recovery: 24_000 };

const PHASES: readonly RunPhase[] = ['surge', 'recovery'];

/** The server keeps every second sample, which is enough for a chart. */
const HISTORY_MS = 500;

/** The machine was too busy in a phase of which more than this share was so. */
const BUSY_SHARE = 0.2;

interface BusyReadings {
  all: number;
  busy: number;
  worst: Busyness | null;
}

/** One run: the same crowd in both worlds, through two phases. */
export class SurgeRun implements RunTime {
  readonly verdicts: Verdict[] = [];
  phase: RunPhase = 'surge';
  /** Whether riders still send or wait. */
  isActive = true;
  isEnding = false;
  busy: Busyness | null = null;
  private readonly startedAt = performance.now();
  private endedAtMs: number | undefined;
  private readonly worlds: OfWorlds<WorldRun>;
  private readonly meter = new BusynessMeter();
  private readonly readings: Record<RunPhase, BusyReadings> = {
    surge: { all: 0, busy: 0, worst: null },
    recovery: { all: 0, busy: 0, worst: null },
  };
  private readonly ended: { phase: RunPhase; seconds: number; recoveredAfterS: number | null }[] = [];
  private stoppedAtMs: number | null = null;
  private timer: NodeJS.Timeout | undefined;
  private nextHistoryMs = 0;
  private isSwitched = false;

  /**
   * @param onEnd called when all requests of a run that was not aborted are answered
   * @param onProblem called when a world does not take its limits
   */
  constructor(
    worlds: OfWorlds<World>,
    city: City,
    private readonly times: RunTimes,
    private readonly onEnd: () => void,
    private readonly onProblem: (error: Error) => void,
  ) {
    const onSent = (lateMs: number): void => this.meter.sent(this.atMs, lateMs);
    this.worlds = {
      left: new WorldRun(worlds.left, city, this, onSent),
      right: new WorldRun(worlds.right, city, this, onSent),
    };
    for (const id of WORLD_IDS) this.worlds[id].start();
    this.timer = setTimeout(() => this.next(), times.surge);
  }

  get atMs(): number {
    return this.endedAtMs ?? performance.now() - this.startedAt;
  }

  get secondsLeft(): number {
    if (this.isEnding || !this.isActive) return 0;
    const all = PHASES.reduce((sum, phase) => sum + this.times[phase], 0);
    return Math.max(0, Math.ceil((all - this.atMs) / 1000));
  }

  get history(): OfWorlds<WorldHistory> {
    return { left: this.worlds.left.history, right: this.worlds.right.history };
  }

  /** A person has switched: the run itself switches nothing any more. */
  switched(): void {
    this.isSwitched = true;
  }

  /** When a viewer stopped the run, in seconds; null: nobody did. */
  get stoppedAfterS(): number | null {
    return this.stoppedAtMs === null ? null : rounded(this.stoppedAtMs / 1000, 1);
  }

  /** A viewer ends the run, whose phase is judged by what there is of it. */
  async stop(): Promise<void> {
    if (this.isEnding) return;
    this.stoppedAtMs = this.atMs;
    this.endPhase();
    await this.finish();
  }

  /** Sends no further requests. Resolves when all are answered. */
  private async finish(): Promise<void> {
    this.isEnding = true;
    clearTimeout(this.timer);
    await Promise.all(WORLD_IDS.map((id) => this.worlds[id].stop()));
    if (!this.isActive) return;
    this.settle();
    this.end();
    this.onEnd();
  }

  /** Ends all requests. */
  async abort(): Promise<void> {
    this.isEnding = true;
    clearTimeout(this.timer);
    this.end();
    await Promise.all(WORLD_IDS.map((id) => this.worlds[id].abort()));
  }

  /** Notes the figures of this moment. Call it several times per second. */
  watch(looks: OfWorlds<WorldLook>, redisAway: boolean): void {
    if (!this.isActive) return;
    const { atMs } = this;
    const { left, right } = this.worlds;
    const samples = { left: left.sample(looks.left, redisAway), right: right.sample(looks.right, redisAway) };
    for (const id of WORLD_IDS) this.worlds[id].watch(samples[id]);
    if (atMs >= this.nextHistoryMs) {
      this.nextHistoryMs = atMs + HISTORY_MS - 50; // a timer may be early
      for (const id of WORLD_IDS) this.worlds[id].samples.push(samples[id]);
    }
    const both = [looks.left, looks.right];
    const cpuMs = both.reduce((sum, look) => sum + look.cpuMs, 0);
    this.busy = this.meter.look(atMs, cpuMs, Math.max(...both.map(({ lateP99Ms }) => lateP99Ms)));
    const readings = this.readings[this.phase];
    readings.all++;
    if (this.busy !== null && !this.isEnding) {
      readings.busy++;
      if (readings.worst === null || this.busy.lateP99Ms >= readings.worst.lateP99Ms) readings.worst = this.busy;
    }
    this.settle();
  }

  tick(id: WorldId, look: WorldLook, redisAway: boolean): WorldTick {
    return this.worlds[id].tick(look, redisAway);
  }

  private endPhase(): void {
    const { phase } = this;
    this.ended.push({
      phase,
      // A timer may be late.
      seconds: Math.min(this.times[phase], this.atMs - this.startOf(phase)) / 1000,
      recoveredAfterS: phase === 'recovery' ? this.worlds.left.quickAfterS(this.startOf('recovery')) : null,
    });
  }

  private next(): void {
    this.endPhase();
    const following = PHASES[PHASES.indexOf(this.phase) + 1];
    if (following === undefined) {
      void this.finish();
      return;
    }
    this.phase = following;
    // From the begin of the run, so that late timers do not add up.
    this.timer = setTimeout(() => this.next(), this.startOf(following) + this.times[following] - this.atMs);
    if (following === 'recovery' && !this.isSwitched) {
      this.worlds.left.world.enforce(true).catch((error: Error) => this.onProblem(error));
    }
  }

  private startOf(phase: RunPhase): number {
    return PHASES.slice(0, PHASES.indexOf(phase)).reduce((sum, before) => sum + this.times[before], 0);
  }

  /** Judges the phases that have ended and whose requests are all answered. */
  private settle(): void {
    while (this.verdicts.length < this.ended.length) {
      const { phase, seconds, recoveredAfterS } = this.ended[this.verdicts.length]!;
      if (!WORLD_IDS.every((id) => this.worlds[id].meter.isSettled(phase))) return;
      const figures = (id: WorldId): PhaseFigures =>
        this.worlds[id].meter.figuresOf(phase, seconds, id === 'left' ? recoveredAfterS : null);
      const { all, busy, worst } = this.readings[phase];
      this.verdicts.push({
        phase,
        worlds: { left: figures('left'), right: figures('right') },
        busy: busy > BUSY_SHARE * all ? worst : null,
      });
    }
  }

  private end(): void {
    this.endedAtMs ??= performance.now() - this.startedAt;
    this.isActive = false;
    this.busy = null;
  }
}
