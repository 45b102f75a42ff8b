/** @typedef {import('../model/library.js').Policy['algorithm']} AlgorithmName */

/** @type {Readonly<Record<AlgorithmName, string>>} */
export const LABELS = {
  'token-bucket': 'Token bucket',
  'leaky-bucket': 'Leaky bucket',
  'fixed-window': 'Fixed window',
  'sliding-window-log': 'Sliding window log',
  'sliding-window-counter': 'Sliding window counter',
  concurrency: 'Concurrency',
};

/**
 * What each is for, and its trap: in the words of docs/policies.md.
 *
 * @type {Readonly<Record<AlgorithmName, string>>}
 */
export const SENTENCES = {
  'token-bucket': 'Short bursts pass, a high average does not. Take it unless another one fits better.',
  'leaky-bucket': 'Requests wait, and reach a slow resource evenly apart.',
  'fixed-window': 'A quota that a customer can read off the clock. Twice the limit can pass around a window’s edge.',
  'sliding-window-log': 'Exact in every interval, for few and critical requests: it stores each instant.',
  'sliding-window-counter': 'Two counts in the place of a log: the window before fades out. Nearly exact.',
  concurrency: 'Few long requests at once. It limits no rate.',
};
