/**
 * The riders whose limits the page can show, and who send its requests: the same in every process, so that on one Redis the pages share
 * their limits. The first is shown at first.
 */
export const RIDERS = ['rider-1', 'rider-2'] as const;

export type RoomRider = (typeof RIDERS)[number];
