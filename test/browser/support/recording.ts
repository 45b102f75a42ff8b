import type { Page } from 'playwright-core';
import type { SurgePhase, WorldId } from '../../../libs/control-room/stage/surge-tick.js';

/** What the page showed of a world in one moment. */
export interface Shown {
  readonly failed: string;
  readonly within: string;
  /** Whether the tile is red. */
  readonly failedIsBad: boolean;
  readonly withinIsBad: boolean;
  readonly waiting: string;
  readonly enforced: boolean;
}

/** What the page showed in one moment. */
export interface Frame {
  /** Milliseconds by the page's clock. */
  readonly at: number;
  readonly phase: SurgePhase;
  /** The text of the warning that the machine is too busy, or an empty text. */
  readonly busy: string;
  readonly worlds: Readonly<Record<WorldId, Shown>>;
}

const EVERY_MS = 100;

/** Notes what the page shows, so that a test misses no moment. A reload begins another recording. */
export async function record(page: Page): Promise<void> {
  await page.evaluate((every) => {
    const frames: object[] = [];
    Object.assign(globalThis, { recorded: frames });
    const text = (place: Element, selector: string): string => place.querySelector(selector)!.textContent;
    const look = (id: string): object => {
      const world = document.getElementById(`world-${id}`)!;
      return {
        failed: text(world, '[data-tile=failed] .value'),
        within: text(world, '[data-tile=within] .value'),
        failedIsBad: world.querySelector('[data-tile=failed][data-bad]') !== null,
        withinIsBad: world.querySelector('[data-tile=within][data-bad]') !== null,
        waiting: text(world, '[data-tile=waiting] .value'),
        enforced: world.querySelector('[role=switch][aria-checked=true]') !== null,
      };
    };
    setInterval(() => {
      const busy = document.getElementById('busy')!;
      frames.push({
        at: performance.now(),
        phase: document.body.dataset['phase'],
        busy: busy.hidden ? '' : busy.textContent,
        worlds: { left: look('left'), right: look('right') },
      });
    }, every);
  }, EVERY_MS);
}

/** The moments since `record`, none without it. */
export function recorded(page: Page): Promise<Frame[]> {
  return page.evaluate(() => (globalThis as { recorded?: Frame[] }).recorded ?? []);
}

/** Milliseconds of a tile's text, such as `130 ms` and `2.3 s`; undefined where it has no figure. */
export function msOf(text: string): number | undefined {
  const [, number, unit] = /^([\d.]+)\s(ms|s)$/.exec(text) ?? [];
  return number === undefined ? undefined : Number(number) * (unit === 's' ? 1000 : 1);
}
