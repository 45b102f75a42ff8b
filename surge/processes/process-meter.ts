import { type EventLoopUtilization, performance } from 'node:perf_hooks';

/** What a process has used of a time. */
export interface ProcessUse {
  /** Of one core: 0.5 is half of it, more than 1 more than one. */
  readonly cpu: number;
  /** The share of the time in which its event loop was busy, 0 to 1. */
  readonly eventLoop: number;
}

/** Measures the process that it runs in, from `begin` to `end`. */
export class ProcessMeter {
  private startedAt = performance.now();
  private cpu = process.cpuUsage();
  private eventLoop: EventLoopUtilization = performance.eventLoopUtilization();

  begin(): void {
    this.startedAt = performance.now();
    this.cpu = process.cpuUsage();
    this.eventLoop = performance.eventLoopUtilization();
  }

  end(): ProcessUse {
    const { user, system } = process.cpuUsage(this.cpu);
    const { utilization } = performance.eventLoopUtilization(this.eventLoop);
    return { cpu: (user + system) / 1000 / (performance.now() - this.startedAt), eventLoop: utilization };
  }
}
