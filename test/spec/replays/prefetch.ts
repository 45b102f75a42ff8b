import { exactRate } from '../../../libs/floodgate/src/algorithms/core/rate.js';
import type { TokenSettlement } from '../../../libs/floodgate/src/algorithms/core/prefetch.js';
import { PrefetchBucket } from '../../../libs/floodgate/src/algorithms/token-bucket/prefetch-bucket.js';
import { TokenBucket } from '../../../libs/floodgate/src/algorithms/token-bucket/token-bucket.js';
import { type PrefetchedTokens, tokensOf } from '../../../libs/floodgate/src/layers/prefetch/prefetched-tokens.js';
import { TestClock } from '../../support/test-clock.js';
import { newKey, ORIGIN, type Place, type Replay, type Step } from './replay.js';

const TICK = 1_000_000;
const [CAPACITY, REFILL, TICKS, WANT] = [12, 2, 2, 3];
const BUCKET = new PrefetchBucket(new TokenBucket(CAPACITY, exactRate(REFILL, CAPACITY)), TICKS * TICK);

interface Pod {
  tokens?: PrefetchedTokens | undefined;
  call?: { readonly sentAt: number; readonly settled: TokenSettlement | undefined } | undefined;
}

export function replayPrefetch({ open }: Place): Replay {
  const clock = new TestClock(ORIGIN);
  const store = open(clock.read);
  const key = newKey('prefetch');
  const pods: readonly Pod[] = [{}, {}];
  const nowMs = (): number => (clock.now - ORIGIN) / 1_000;
  const mayUse = ({ tokens, call }: Pod): boolean =>
    call === undefined && tokens !== undefined && tokens.left > 0 && nowMs() < tokens.endsAt;
  /** The store runs the pod's call. Returns what it has granted. */
  const decide = async (pod: Pod, isHeard: boolean): Promise<number> => {
    const { sentAt, settled } = pod.call!;
    const algorithm = BUCKET.prefetch.charge(WANT, settled);
    const verdict = await store.consume([{ key, algorithm, cost: 1, mode: 'reserve' }]);
    const entry = { algorithm: BUCKET, length: (TICKS * TICK) / 1_000 };
    pod.call = undefined;
    pod.tokens = isHeard ? tokensOf(entry, verdict, 1, sentAt, nowMs()) : undefined;
    return verdict.charges[0]!.receipt!.refundMarker![0]!;
  };
  return {
    async step({ does, who, outcome }: Step): Promise<Step> {
      const pod = pods[who]!;
      let n = 0;
      if (does === 'tick') {
        clock.now += TICK;
        n = pods.reduce((sum, one, i) => sum + (mayUse(one) ? i + 1 : 0), 0);
      } else if (does === 'consume') {
        const { allowed } = await store.consume([{ key, algorithm: BUCKET, cost: 1 }]);
        if (!allowed) throw new Error('rejected');
      } else if (does === 'use') {
        if (!mayUse(pod)) throw new Error('the pod has no token');
        n = --pod.tokens!.left;
      } else if (does === 'ask') {
        const { at, granted, left } = pod.tokens ?? { at: 0, granted: 0, left: 0 };
        pod.call = { sentAt: nowMs(), settled: granted > 0 ? { at, granted, used: granted - left } : undefined };
        n = left;
      } else if (does === 'granted') n = await decide(pod, true);
      else if (does === 'unheard') n = await decide(pod, false);
      else [pod.call, pod.tokens] = [undefined, undefined];
      const { charges } = await store.consume([{ key, algorithm: BUCKET, cost: 0 }]);
      return { does, who, outcome, numbers: [n, charges[0]!.remaining] };
    },
  };
}
