/** One header of a response. */
export type Header = readonly [name: string, value: string];
