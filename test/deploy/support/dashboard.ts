/** A panel of Grafana, or a row, which contains its panels while it is collapsed. */
export interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly collapsed?: boolean;
  readonly panels?: readonly Panel[];
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string }[];
  readonly fieldConfig?: {
    readonly defaults: {
      readonly thresholds?: { readonly steps: readonly { readonly value: number | null }[] };
      readonly custom?: { readonly thresholdsStyle?: { readonly mode: string } };
    };
    readonly overrides: readonly object[];
  };
}

/** All panels and rows, with those in collapsed rows. */
export function flat(panels: readonly Panel[]): Panel[] {
  return panels.flatMap((panel) => [panel, ...flat(panel.panels ?? [])]);
}
