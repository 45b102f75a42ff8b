import type { Redis } from 'ioredis';

export interface CommandStats {
  readonly calls: number;
  /** The calls that Redis answered with an error. */
  readonly failed: number;
}

/** The commands that Redis ran during `work`, by name. The script's own calls count, too. */
export async function commandsDuring(
  client: Redis,
  work: () => Promise<unknown>,
): Promise<(name: string) => CommandStats> {
  await client.config('RESETSTAT');
  await work();
  const info = await client.info('commandstats');
  return (name) => {
    const line = info.match(new RegExp(`^cmdstat_${name}:(.*)$`, 'm'))?.[1] ?? '';
    const field = (text: string): number => Number(line.match(new RegExp(`(?:^|,)${text}=(\\d+)`))?.[1] ?? 0);
    return { calls: field('calls'), failed: field('failed_calls') };
  };
}
