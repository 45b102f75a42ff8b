import { loadedCopy } from './copies.js';

/** Set by the build at the head of each file. */
declare const FLOODGATE_FORMAT: string | undefined;

/** The copy of `floodgate` that is running. */
export const ENGINE_COPY = loadedCopy(
  'floodgate',
  typeof FLOODGATE_FORMAT === 'string' ? FLOODGATE_FORMAT : 'TypeScript',
);
