import { useClient } from './client.js';
import { useLlm } from './llm.js';
import { useTesting } from './testing.js';
import { useThrottler } from './throttler.js';

const entries: Record<string, (url: string) => Promise<void>> = {
  client: useClient,
  llm: useLlm,
  testing: useTesting,
  throttler: useThrottler,
};

/** Uses every subpath entry of the package, and returns their names. */
export async function useEntries(url: string): Promise<string[]> {
  for (const use of Object.values(entries)) await use(url);
  return Object.keys(entries);
}
