import type { Redis } from 'ioredis';
import { LEAN_PROGRAMS, PROGRAM } from '../../libs/rate-limit/src/stores/redis/program.generated.js';

/** The texts of all programs that decide. */
export const PROGRAMS: readonly string[] = [
  PROGRAM,
  ...Object.values(LEAN_PROGRAMS).flatMap(({ one, any }) => [one, any]),
];

/** Teaches Redis the programs: a batch that is sent again after NOSCRIPT may be overtaken by the next one. */
export async function loadPrograms(client: Redis): Promise<void> {
  for (const program of PROGRAMS) await client.script('LOAD', program);
}
