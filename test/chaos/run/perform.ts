import { setTimeout as delay } from 'node:timers/promises';
import { now, type Span } from '../clock.js';
import { CLIENT_FAULTS } from '../faults/client-faults.js';
import { NETWORK_FAULTS } from '../faults/network-faults.js';
import { POD_FAULTS } from '../faults/pod-faults.js';
import { type Injure, REDIS_FAULTS } from '../faults/redis-faults.js';
import type { FaultKind, PlannedFault, Storm } from '../plan.js';
import type { Scene } from './scene.js';

/** A fault, and when it really was. */
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
 * Does what is planned. Where faults take longer than planned (a process needs its time to start), what comes later is
 * moved, so that each calm has its length.
 *
 * @param began called as each fault begins
 */
export async function perform(
  scene: Scene,
  storms: readonly Storm[],
  began: (fault: PlannedFault) => void,
): Promise<Injury[]> {
  const injuries: Injury[] = [];
  let origin = now();
  for (const { faults, calmUntil } of storms) {
    await Promise.all(
      faults.map(async (fault) => {
        await delay(origin + fault.at - now());
        began(fault);
        const from = now();
        try {
          await INJURES[fault.kind](scene, fault);
        } catch (error) {
          throw new Error(`'${fault.kind}' could not be done`, { cause: error });
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
