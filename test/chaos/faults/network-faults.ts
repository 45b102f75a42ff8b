import { setTimeout as delay } from 'node:timers/promises';
import type { Weather } from '../network/main.js';
import type { PlannedFault } from '../plan.js';
import type { Scene } from '../run/scene.js';
import type { Injure } from './redis-faults.js';

async function weather(scene: Scene, { pod, forMs }: PlannedFault, during: Weather): Promise<void> {
  await scene.weather(pod!, during);
  await delay(forMs);
  await scene.weather(pod!, { kind: 'fair' });
}

export const NETWORK_FAULTS = {
  'latency below the deadline': (scene, fault) => weather(scene, fault, { kind: 'delay', ms: fault.amount }),
  'latency above the deadline': (scene, fault) => weather(scene, fault, { kind: 'delay', ms: fault.amount }),
  'black hole': (scene, fault) => weather(scene, fault, { kind: 'black-hole' }),
  'answers lost': (scene, fault) => weather(scene, fault, { kind: 'replies-lost' }),
  'answer lost after execution': (scene, fault) => weather(scene, fault, { kind: 'cut', times: fault.amount }),
  'connections reset': (scene, fault) => weather(scene, fault, { kind: 'reset' }),
  'connections refused': (scene, fault) => weather(scene, fault, { kind: 'refuse' }),
  'first answer late': (scene, fault) => weather(scene, fault, { kind: 'late', ms: fault.amount }),
  'lookups hang': async (scene, { pod, forMs }) => {
    scene.pods[pod!]!.tell({ lookups: 'hang' });
    await scene.resetConnections(pod!);
    await delay(forMs);
    scene.pods[pod!]!.tell({ lookups: 'return' });
  },
} satisfies Readonly<Record<string, Injure>>;
