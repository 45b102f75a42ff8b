import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { assert, constantFrom, double, property } from 'fast-check';
import { histories } from '../../test/support/property-runs.js';
import { APART, LIMIT_OF_TEN, OUTAGE_PODS } from './counting.js';
import { across, countsOf, dotsOf, down, kindAt, KINDS, levelOf } from './draw.js';
import { FIGURES, type Idea } from './figures.js';
import { defaultsOf, type Figure, type Kind, type Row, type Scene, type Settings } from './scene.js';
import { CAN_DO, CROWD, PATIENCE } from './waiting.js';

const PAGE = readFileSync(new URL('../../site/pages/explained.md', import.meta.url), 'utf8');
const IDEAS = Object.keys(FIGURES) as Idea[];

/** Every setting that a reader can choose. */
function settingsOf({ controls }: Figure): Settings[] {
  return controls.reduce<Settings[]>(
    (all, { name, min, max, step }) =>
      Array.from({ length: Math.round((max - min) / step) + 1 }, (_, i) => min + i * step).flatMap((value) =>
        all.map((settings) => ({ ...settings, [name]: value })),
      ),
    [{}],
  );
}

const SCENES: readonly { readonly idea: Idea; readonly settings: Settings; readonly scene: Scene }[] = IDEAS.flatMap(
  (idea) => settingsOf(FIGURES[idea]).map((settings) => ({ idea, settings, scene: FIGURES[idea].sceneOf(settings) })),
);

/** What is wrong of the scenes of an idea. */
function wrong(of: Idea, isRight: (scene: Scene, settings: Settings) => boolean): [Settings, string][] {
  const scenes = SCENES.filter(({ idea }) => idea === of);
  expect(scenes.length).toBeGreaterThan(2);
  return scenes.filter(({ scene, settings }) => !isRight(scene, settings)).map((one) => [one.settings, one.scene.says]);
}

const numbersIn = (says: string): number[] => (says.match(/\d+(?:\.\d+)?/g) ?? []).map(Number);
const count = ({ marks }: Row, ...kinds: Kind[]): number => marks.filter(({ kind }) => kinds.includes(kind)).length;
const round = (value: number): number => Math.round(value * 10) / 10;
const isSame = (a: readonly number[], b: readonly number[]): boolean => JSON.stringify(a) === JSON.stringify(b);

/** A server that does one request after the other. The longest wait until an answer, and the last one, in seconds. */
function waitsOf({ marks }: Row): { longest: number; last: number } {
  let free = 0;
  const waits = marks.map(({ at }) => (free = Math.max(free, at) + 1 / CAN_DO) - at);
  return { longest: Math.max(...waits), last: waits.at(-1)! };
}

describe('the sentence of a figure is true for every setting', () => {
  it('of the queue', () => {
    const right = ({ says, rows: [row] }: Scene, { demand = 0 }: Settings): boolean => {
      const { longest, last } = waitsOf(row!);
      const isCalm = demand <= CAN_DO;
      return (
        (isCalm ? longest < 1 : last > 2) &&
        says.includes(isCalm ? 'at most' : 'the queue grows') &&
        isSame(numbersIn(says), [demand, CAN_DO, round(isCalm ? longest : last)])
      );
    };
    expect(wrong('queue', right)).toEqual([]);
  });

  it('of the people who leave: the server works for all of them', () => {
    const right = ({ says, rows: [row] }: Scene, { demand = 0 }: Settings): boolean => {
      let free = 0;
      const inTime = row!.marks.filter(({ at }) => (free = Math.max(free, at) + 1 / CAN_DO) - at <= PATIENCE).length;
      const all = row!.marks.length;
      const numbers = inTime === all ? [demand, all] : [demand, inTime, all, all - inTime];
      return inTime === count(row!, 'served') && isSame(numbersIn(says), numbers);
    };
    expect(wrong('collapse', right)).toEqual([]);
  });

  it('of the limit: it lets through no more than it says, and has a queue behind it where it is too high', () => {
    const without = count(FIGURES.collapse.sceneOf({ demand: CROWD }).rows[0]!, 'served');
    const right = ({ says, rows: [row] }: Scene, { limit = 0 }: Settings): boolean => {
      const [served, refused, failed] = (['served', 'refused', 'failed'] as const).map((kind) => count(row!, kind));
      const longest = row!.marks.reduce((most, one) => (one.kind === 'served' ? Math.max(most, one.y) : most), 0);
      const isTooMuch = limit > CAN_DO;
      const numbers = isTooMuch
        ? [limit, failed! > 0 ? failed! : round(longest)]
        : [limit, served!, round(longest), refused!, without];
      const isBounded = served! + failed! <= limit * row!.width + 2;
      return (
        isBounded &&
        isTooMuch === says.includes('more than') &&
        isTooMuch === longest > 1 &&
        isSame(numbersIn(says), numbers)
      );
    };
    expect(wrong('limit', right)).toEqual([]);
  });

  it('of the bucket: no stretch of time lets more pass than the capacity and what has been refilled', () => {
    const right = ({ says, rows: [row] }: Scene, { capacity = 0, refill = 0 }: Settings): boolean => {
      const passed = row!.marks.filter(({ kind }) => kind === 'served').map(({ at }) => at);
      const isBounded = passed.every((from, i) =>
        passed.slice(i).every((to, more) => more + 1 <= capacity + refill * (to - from) + 1e-6),
      );
      const [page, next, program] = row!.lines.flatMap(({ x }) => (x === undefined ? [] : [x]));
      const within = (from: number, to: number): number => passed.filter((at) => at >= from && at < to).length;
      const [first, second, third] = [within(page!, next!), within(next!, program!), within(program!, Infinity)];
      const numbers = [first, 6, second, 6, third, 25, ...(third === 25 ? [] : [refill])];
      return isBounded && first === Math.min(6, capacity) && isSame(numbersIn(says), numbers);
    };
    expect(wrong('burst', right)).toEqual([]);
  });

  it('of the edge: the fixed window admits twice its limit across it, and the sliding one never', () => {
    const right = ({ says, rows: [fixed, sliding] }: Scene, { first = 0 }: Settings): boolean => {
      const isAcross = Math.floor(first / 10) !== Math.floor((first + APART) / 10);
      const sent = [10, first, 10, first + APART];
      const numbers = isAcross ? [...sent, 10, 20, APART, 10] : [...sent, 10];
      return (
        count(fixed!, 'served') === (isAcross ? 20 : 10) &&
        count(sliding!, 'served') === 10 &&
        isSame(numbersIn(says), numbers)
      );
    };
    expect(wrong('edge', right)).toEqual([]);
  });

  it('of the pods: each admits the limit, and all of them with one count once', () => {
    const right = ({ says, rows: [each, all] }: Scene, { pods = 0 }: Settings): boolean => {
      const numbers = pods === 1 ? [10, 12] : [pods, 10 * pods, 12 * pods, pods, 10];
      return (
        count(each!, 'served', 'failed') === LIMIT_OF_TEN * pods &&
        count(each!, 'served') === LIMIT_OF_TEN &&
        count(all!, 'served') === LIMIT_OF_TEN &&
        count(all!, 'failed') === 0 &&
        isSame(numbersIn(says), numbers)
      );
    };
    expect(wrong('pods', right)).toEqual([]);
  });

  it('of the outage', () => {
    const share = Math.floor(LIMIT_OF_TEN / OUTAGE_PODS);
    const says = settingsOf(FIGURES.outage).map((settings) => FIGURES.outage.sceneOf(settings).says);
    expect(says.map(numbersIn)).toEqual([
      [3, 3 * 18, 3 * LIMIT_OF_TEN],
      [3, 3 * LIMIT_OF_TEN],
      [OUTAGE_PODS, share, 3 * OUTAGE_PODS * share, 3 * LIMIT_OF_TEN],
    ]);
    const wrongly = settingsOf(FIGURES.outage).map((settings) =>
      count(FIGURES.outage.sceneOf(settings).rows[0]!, 'failed'),
    );
    expect(wrongly).toEqual([3 * (18 - LIMIT_OF_TEN), 3 * LIMIT_OF_TEN, 3 * (LIMIT_OF_TEN - OUTAGE_PODS * share)]);
  });
});

describe('a picture', () => {
  it('has room for all that it shows, says what each kind means, and leaves nobody waiting at its end', () => {
    const problems = SCENES.flatMap(({ idea, settings, scene: { rows, end, says } }) =>
      rows.flatMap((row) => {
        const places = [...row.marks, ...(row.level ?? []).map(([x, y]) => ({ x, y }))];
        const isInside = places.every(({ x, y }) =>
          [across(row, x), down(row, y)].every((place) => place >= 0 && place <= 100),
        );
        const means = row.legend.map(([kind]) => kind);
        const isNamed = row.marks.every(({ kind }) => means.includes(kind));
        const isOver = countsOf(row, end).waiting === 0;
        return isInside && isNamed && isOver && !/NaN|undefined|Infinity/.test(says) ? [] : [[idea, settings]];
      }),
    );
    expect(problems).toEqual([]);
  });

  it('shows each request that has come once, and its level up to now', () => {
    const law = property(constantFrom(...SCENES), double({ min: 0, max: 1, noNaN: true }), ({ scene }, part) => {
      const now = part * scene.end;
      for (const row of scene.rows) {
        const come = row.marks.filter(({ at }) => at <= now).length;
        const dots = KINDS.map((kind) => dotsOf(row, kind, now).match(/M/g)?.length ?? 0);
        expect(dots.reduce((sum, one) => sum + one)).toBe(come);
        expect(KINDS.map((kind) => countsOf(row, now)[kind])).toEqual(dots);
        expect(row.marks.filter((mark) => kindAt(mark, now) === undefined)).toHaveLength(row.marks.length - come);
        const area = levelOf(row, now);
        for (const [, x] of area.matchAll(/L([\d.]+) /g))
          expect(Number(x)).toBeLessThanOrEqual(across(row, now) + 0.01);
      }
    });
    assert(law, histories());
  });
});

describe('the page', () => {
  it('has each figure in its order, with the sentence of its first settings for readers without a script', () => {
    const found = [...PAGE.matchAll(/<IdeaFigure idea="(\w+)">\n\n_Figure: (.*)_\n\n<\/IdeaFigure>/g)];
    expect(found.map(([, idea, says]) => [idea, says])).toEqual(
      IDEAS.map((idea) => [idea, FIGURES[idea].sceneOf(defaultsOf(FIGURES[idea])).says]),
    );
  });

  it('says the numbers of the models', () => {
    const text = PAGE.replaceAll(/\s+/g, ' ');
    const served = (demand: number): number => count(FIGURES.collapse.sceneOf({ demand }).rows[0]!, 'served');
    for (const says of [
      `takes ${1 / CAN_DO} seconds for each. So it can do ${CAN_DO} a second`,
      `they leave after ${PATIENCE} seconds`,
      `At ${CAN_DO} a second, ${served(CAN_DO)} people come, and all ${served(CAN_DO)} get their answer`,
      `At ${2 * CAN_DO} a second twice as many come, and only ${served(2 * CAN_DO)} do`,
      `The same ${CROWD} people a second`,
      `ten more ${APART} seconds later`,
      `Let the limit be ${LIMIT_OF_TEN}`,
      `${OUTAGE_PODS} pods share a limit of ${LIMIT_OF_TEN} a second`,
    ])
      expect(text).toContain(says);
  });

  it('is short, and about no product before its last section', () => {
    const [ideas, last, ...others] = PAGE.replace(/^---[^]*?---\n/, '').split('\n## In code\n');
    expect(others).toEqual([]);
    expect(ideas).not.toMatch(/Floodgate|Nest|npm|@RateLimit/);
    expect(last).toMatch(/@RateLimit/);
    const words = ideas!.replaceAll(/<.*>|_Figure: .*_|\(https?:.*?\)/g, '').match(/[\w’'.]+/g)!;
    expect(words.length).toBeGreaterThan(1_000);
    expect(words.length).toBeLessThan(1_400);
  });
});
