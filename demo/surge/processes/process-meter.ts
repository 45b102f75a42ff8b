import { type EventLoopUtilization, performance } from 'node:perf_hooks';

/** The use of a process during a measurement. */
export interface ProcessUse {
  /** CPU as a share of one core: 0.5 is half a core, 2 are two cores. */
  readonly cpu: number;
  /** The busy share of the event loop's time, 0 to 1. */
  readonly eventLoop: number;
}

/** Measures its own process, from `begin` to `end`. */
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
