import { setMaxListeners } from 'node:events';
import { Agent } from 'undici';
import { DECIDED_BY, POD_LIMIT } from './pod-limits.js';
import type { Counting, PodsResult } from './pods-tick.js';

interface Answer {
  readonly pod: number;
  /** 0: none came. */
  readonly status: number;
  readonly byShare: boolean;
}

/** Sends a rider's requests to all pods at the same moment. */
export class Burst {
  private readonly agent = new Agent({ connections: null });

  /**
   * @param origins of the pods
   * @param together whether the pods count in the shared store
   * @param signal aborts the requests that have no answer yet
   */
  async send(
    rider: string,
    origins: readonly string[],
    { each, together, signal }: { readonly each: number; readonly together: boolean; readonly signal: AbortSignal },
  ): Promise<Omit<PodsResult, 'id'>> {
    setMaxListeners(each * origins.length, signal); // Node.js takes more than ten for a leak
    const since = performance.now();
    const answers = await Promise.all(
      Array.from({ length: each }, () => origins.map((origin, pod) => this.ask(origin, pod, rider, signal))).flat(),
    );
    signal.throwIfAborted();
    const tookMs = performance.now() - since;
    const total = counts(answers);
    const decidedByShare = answers.filter(({ byShare }) => byShare).length;
    const counting = together ? (decidedByShare > 0 ? 'outage' : 'together') : 'alone';
    return {
      counting,
      sent: answers.length,
      ...total,
      refilled: counting === 'outage' ? 0 : refilledOf(total.passed, together ? 1 : origins.length, tookMs),
      decidedByShare,
      pods: origins.map((_, pod) => {
        const own = answers.filter((answer) => answer.pod === pod);
        return { counting: countingOf(own, together), ...counts(own) };
      }),
      tookMs: Math.round(tookMs),
    };
  }

  /** Aborts open requests. */
  async close(): Promise<void> {
    await this.agent.destroy();
  }

  private async ask(origin: string, pod: number, rider: string, signal: AbortSignal): Promise<Answer> {
    try {
      const { statusCode, headers, body } = await this.agent.request({
        origin,
        method: 'POST',
        path: '/rides',
        headers: { 'x-user-id': rider },
        signal,
      });
      await body.text(); // an answer that breaks off is none, of which dump() says nothing
      return { pod, status: statusCode, byShare: headers[DECIDED_BY] === 'local' };
    } catch {
      return { pod, status: 0, byShare: false };
    }
  }
}

/** How one pod counted; null: it changed meanwhile. */
function countingOf(answers: readonly Answer[], together: boolean): Counting | null {
  if (!together) return 'alone';
  const byShare = answers.filter((answer) => answer.byShare).length;
  if (byShare === 0) return 'together';
  return byShare === answers.filter(({ status }) => status !== 0).length ? 'outage' : null;
}

type Counts = Pick<PodsResult, 'passed' | 'refused' | 'failed'>;

function counts(answers: readonly Answer[]): Counts {
  const passed = answers.filter(({ status }) => status === 200).length;
  const refused = answers.filter(({ status }) => status === 429).length;
  return { passed, refused, failed: answers.length - passed - refused };
}

/**
 * The part of what passed that tokens explain which came back meanwhile.
 *
 * @param buckets full ones at the begin
 */
export function refilledOf(passed: number, buckets: number, tookMs: number): number {
  const most = buckets * Math.floor((tookMs * POD_LIMIT.refillPerMinute) / 60_000);
  return Math.max(0, Math.min(passed - buckets * POD_LIMIT.capacity, most));
}
