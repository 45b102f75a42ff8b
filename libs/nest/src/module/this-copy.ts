import { loadedCopy } from 'floodgate/internal';

/** Set by the build at the head of each file. */
declare const FLOODGATE_FORMAT: string | undefined;

/** The copy of `nestjs-floodgate` that is running. */
export const THIS_COPY = loadedCopy(
  'nestjs-floodgate',
  typeof FLOODGATE_FORMAT === 'string' ? FLOODGATE_FORMAT : 'TypeScript',
);
