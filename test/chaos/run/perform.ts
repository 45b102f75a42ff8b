import { setTimeout as delay } from 'node:timers/promises';
import { now, type Span } from '../clock.js';
import { CLIENT_FAULTS } from '../faults/client-faults.js';
import { NETWORK_FAULTS } from '../faults/network-faults.js';
import { POD_FAULTS } from '../faults/pod-faults.js';
import { type Injure, REDIS_FAULTS } from '../faults/redis-faults.js';
import type { FaultKind, PlannedFault, Storm } from '../plan.js';
import type { Scene } from './scene.js';

/** A fault with its real time. */
export interface Injury extends Span {
  readonly fault: PlannedFault;
}

const INJURES: Readonly<Record<FaultKind, Injure>> = {
  ...REDIS_FAULTS,
  ...NETWORK_FAULTS,
  ...POD_FAULTS,
  ...CLIENT_FAULTS,
};

/**
 * Injects the planned faults. A fault may take longer than planned, for example because a process starts slowly. Later faults
 * are then postponed, so that each calm has its full length.
 */
export async function perform(scene: Scene, storms: readonly Storm[]): Promise<Injury[]> {
  const injuries: Injury[] = [];
  let origin = now();
  for (const { faults, calmUntil } of storms) {
    await Promise.all(
      faults.map(async (fault) => {
        await delay(origin + fault.at - now());
        const from = now();
        try {
          await INJURES[fault.kind](scene, fault);
        } catch (error) {
          throw new Error(`The fault '${fault.kind}' could not be injected`, { cause: error });
        }
        injuries.push({ fault, from, to: now() });
      }),
    );
    const lastPlanned = Math.max(...faults.map(({ at, forMs }) => at + forMs));
    origin = Math.max(origin, now() - lastPlanned);
    await scene.collectSlow();
    await delay(origin + calmUntil - now());
  }
  return injuries;
}
