import { MAX_TAG_BYTES, TEXTS } from 'floodgate/internal-boot';

/**
 * The most characters of each text that the endpoints take. Their work on a text grows at most linearly with its length, so
 * that no body blocks the event loop.
 */
export const TEXT_BOUNDS = {
  ...TEXTS,
  /** The bound of an identity's value. Longer text does not fit the headers of a request to Node. */
  identity: 16_384,
  tag: MAX_TAG_BYTES,
  kind: 16,
  route: 1024,
  plan: 64,
  timeZone: 64,
  priority: 64,
  expiresIn: 100,
} as const;
