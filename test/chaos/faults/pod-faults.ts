import { setTimeout as delay } from 'node:timers/promises';
import type { Injure } from './redis-faults.js';

/** Direct calls, a millisecond apart, before a process is stopped. */
const ASKED = 6;

const computes: Injure = async ({ pods }, { pod, forMs }) => {
  pods[pod!]!.tell({ compute: forMs });
  await delay(forMs);
};

export const POD_FAULTS = {
  'process computes': computes,
  'process computes for seconds': async ({ pods }, { pod, forMs }) => {
    // After the calls were sent, and before an answer can be read.
    pods[pod!]!.tell({ compute: forMs, phase: 'under way' });
    await delay(forMs);
  },
  'handlers compute': async ({ pods }, { pod, forMs, amount }) => {
    pods[pod!]!.tell({ handlersCompute: amount });
    await delay(forMs);
    pods[pod!]!.tell({ handlersCompute: 0 });
  },
  'process stopped': async ({ pods, random }, { pod, forMs }) => {
    // The process stops while its calls wait for answers.
    for (let i = random(ASKED); i >= 0; i--) {
      pods[pod!]!.tell({ ask: true });
      await delay(1);
    }
    pods[pod!]!.signal('SIGSTOP');
    await delay(forMs);
    pods[pod!]!.signal('SIGCONT');
  },
  'process restarted': ({ pods }, { pod, amount }) => pods[pod!]!.restart(amount, 'SIGTERM'),
  'process killed': ({ pods }, { pod, amount }) => pods[pod!]!.restart(amount, 'SIGKILL'),
  'clock of the process jumps': async ({ pods, random }, { pod, amount }) => {
    pods[pod!]!.tell({ clockAhead: random(2) === 0 ? amount : -amount });
  },
} satisfies Readonly<Record<string, Injure>>;
