import type { Algorithm } from '../../libs/floodgate/src/algorithms/core/algorithm.js';
import {
  type Textbook,
  TextbookCounter,
  TextbookFirstRequestWindow,
  TextbookFixedWindow,
  TextbookLeakyBucket,
  TextbookLog,
  TextbookTokenBucket,
} from '../../lab/textbook/textbook.js';
import { FirstRequestWindows } from '../../libs/floodgate/src/algorithms/fixed-window/fixed-window.js';
import { rateOf, windowOf } from './algorithm-of.js';

const WINDOWS: Readonly<Record<string, typeof TextbookFixedWindow | typeof TextbookCounter | typeof TextbookLog>> = {
  'fixed-window': TextbookFixedWindow,
  'sliding-window-counter': TextbookCounter,
  'sliding-window-log': TextbookLog,
  // A log whose window is the lease.
  concurrency: TextbookLog,
};

/** The textbook of an algorithm of the library, with the same limit. */
export function textbookOf(algorithm: Algorithm): Textbook {
  const { name, limit } = algorithm;
  // A queue of capacity 0 rejects what a textbook's lets depart at once.
  if (name === 'token-bucket' || (name === 'leaky-bucket' && limit === 0)) {
    return new TextbookTokenBucket(limit, rateOf(algorithm));
  }
  if (name === 'leaky-bucket') return new TextbookLeakyBucket(limit, rateOf(algorithm));
  const Window = algorithm instanceof FirstRequestWindows ? TextbookFirstRequestWindow : WINDOWS[name];
  if (Window === undefined)
    throw new RangeError(`no textbook describes ${name}: define it in lab/textbook, and add it here`);
  return new Window(limit, windowOf(algorithm));
}
