/** What became of a request: each kind has its colour in the palette, and `refused` its shape. */
export type Kind = 'waiting' | 'served' | 'refused' | 'failed';

/** A request in a picture. */
export interface Mark {
  /** When it comes, in seconds of the film. */
  readonly at: number;
  /** When it has an answer, or gives up. Until then it waits, and climbs from 0 to `y`. */
  readonly until: number;
  /** Its place, in the units of the row. */
  readonly x: number;
  readonly y: number;
  readonly kind: Exclude<Kind, 'waiting'>;
}

/** A line of a picture with its word: across it at `y`, or from bottom to top at `x`. */
export interface Line {
  readonly x?: number;
  readonly y?: number;
  readonly text: string;
}

/** One diagram. Its units are its own: seconds and tokens, pods and requests. */
export interface Row {
  readonly title?: string;
  /** Whether it needs little height. */
  readonly isLow?: boolean;
  readonly width: number;
  readonly bottom: number;
  readonly top: number;
  readonly marks: readonly Mark[];
  /** What is used, or what is left: an area over 0, by time. */
  readonly level?: readonly (readonly [x: number, y: number])[];
  readonly lines: readonly Line[];
  /** When the shared count is away. */
  readonly outage?: { readonly from: number; readonly to: number; readonly text: string };
  /** The words below it, at the left, in the middle and at the right. */
  readonly axis: readonly string[];
  /** What the kinds mean here. Their counts stand beside them. */
  readonly legend: readonly (readonly [kind: Kind, means: string])[];
}

/** A picture for one choice of settings. */
export interface Scene {
  /** The seconds that its film shows. */
  readonly end: number;
  readonly rows: readonly Row[];
  /** What happens, in a sentence that is true for these settings. */
  readonly says: string;
}

export type Settings = Readonly<Record<string, number>>;

/** Something that the reader sets: a slider, or a choice between words, of which the value is the index. */
export interface Control {
  readonly name: string;
  readonly label: string;
  readonly min: number;
  readonly max: number;
  readonly step: number;
  readonly value: number;
  /** A value with its unit. */
  readonly shown: (value: number) => string;
  readonly options?: readonly string[];
}

/** An idea that a reader can play with. */
export interface Figure {
  readonly title: string;
  readonly controls: readonly Control[];
  sceneOf(settings: Settings): Scene;
}

/** The settings with which a figure begins. */
export function defaultsOf({ controls }: Figure): Settings {
  return Object.fromEntries(controls.map(({ name, value }) => [name, value]));
}

/** A duration as people read it: `0.4 s`, `3 s`. */
export function seconds(value: number): string {
  return `${Math.round(value * 10) / 10} s`;
}
