/** The longest pause, in milliseconds: 100 years. */
export const LONGEST_PAUSE_MS = 3_155_760_000_000;
