import type { Redis } from 'ioredis';
import {
  PROGRAM as NODE_PROGRAM,
  ROWS_PROGRAMS,
} from '../../libs/rate-limit/src/stores/redis/node-program.generated.js';
import { LEAN_PROGRAMS, PROGRAM } from '../../libs/rate-limit/src/stores/redis/program.generated.js';

/** The texts of all programs that decide. */
export const PROGRAMS: readonly string[] = [
  PROGRAM,
  ...Object.values(LEAN_PROGRAMS).flatMap(({ one, any }) => [one, any]),
];

/** The texts of the programs that decide on a node of a Cluster, for keys in any of its slots. */
const NODE_PROGRAMS: readonly string[] = [NODE_PROGRAM, ...Object.values(ROWS_PROGRAMS)];

/** Teaches Redis the programs: a batch that is sent again after NOSCRIPT may be overtaken by the next one. */
export async function loadPrograms(client: Redis): Promise<void> {
  for (const program of [...PROGRAMS, ...NODE_PROGRAMS]) await client.script('LOAD', program);
}
