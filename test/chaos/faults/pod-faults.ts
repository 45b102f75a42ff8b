import { setTimeout as delay } from 'node:timers/promises';
import { OTHER_SHARE, SHARE } from '../policies.js';
import type { Scene } from '../run/scene.js';
import type { Injure } from './redis-faults.js';

async function restart({ pods }: Scene, index: number, times: number, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  const pod = pods[index]!;
  for (let i = 0; i < times; i++) {
    await pod.stop(signal);
    await pod.start();
  }
}

export const POD_FAULTS = {
  'process computes': async ({ pods }, { pod, forMs }) => {
    pods[pod!]!.tell({ compute: forMs });
    await delay(forMs);
  },
  'process computes again and again': async ({ pods, random }, { pod, forMs, amount }) => {
    const until = performance.now() + forMs;
    while (performance.now() < until) {
      pods[pod!]!.tell({ compute: 1 + random(amount) });
      await delay(random(2 * amount));
    }
  },
  'handlers compute': async ({ pods }, { pod, forMs, amount }) => {
    pods[pod!]!.tell({ handlersCompute: amount });
    await delay(forMs);
    pods[pod!]!.tell({ handlersCompute: 0 });
  },
  'process stopped': async ({ pods, random }, { pod, forMs }) => {
    pods[pod!]!.tell({ ask: true });
    await delay(random(4));
    pods[pod!]!.signal('SIGSTOP');
    await delay(forMs);
    pods[pod!]!.signal('SIGCONT');
  },
  'process restarted': (scene, { pod, amount }) => restart(scene, pod!, amount, 'SIGTERM'),
  'process killed': (scene, { pod, amount }) => restart(scene, pod!, amount, 'SIGKILL'),
  'clock of the process jumps': async ({ pods, random }, { pod, amount }) => {
    pods[pod!]!.tell({ clockAhead: random(2) === 0 ? amount : -amount });
  },
  'localShare changes': async ({ pods, random }, { forMs }) => {
    const until = performance.now() + forMs;
    while (performance.now() < until) {
      for (const pod of pods) pod.tell({ share: random(2) === 0 ? SHARE : OTHER_SHARE });
      await delay(50 + random(100));
    }
    for (const pod of pods) pod.tell({ share: SHARE });
  },
} satisfies Readonly<Record<string, Injure>>;
