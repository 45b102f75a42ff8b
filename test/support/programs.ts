import type { Redis } from 'ioredis';
import { DECISIONS, LEAN } from '../../libs/floodgate/src/stores/redis/batch/programs.generated.js';

/** The texts of the programs that decide. */
export const PROGRAMS: readonly string[] = [DECISIONS, ...Object.values(LEAN)];

/** Teaches Redis the programs: a batch that is sent again after NOSCRIPT may be overtaken by the next one. */
export async function loadPrograms(client: Redis): Promise<void> {
  for (const program of PROGRAMS) await client.script('LOAD', program);
}
