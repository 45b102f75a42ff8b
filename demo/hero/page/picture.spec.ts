import { describe, expect, it } from '@jest/globals';
import { CITY } from '../model/city.js';
import { AXES, END_SECONDS, rushOf, SETTINGS } from '../model/hero.js';
import { failedWordEnd, labelsOf, planOf } from './picture.js';

const REQUESTS = rushOf(SETTINGS);
/** Canvases of the control room, the landing page and the page of the hero, from phones to wide screens. */
const SIZES = [240, 272, 330, 350, 480, 560, 602].flatMap((width) =>
  [208, 240, 280, 384].map((height) => [width, height] as const),
);

describe('the plan of the picture', () => {
  it.each(SIZES)('gives the time until an answer its height on %i x %i pixels, and no words meet', (width, height) => {
    const plan = planOf(width, height, AXES, REQUESTS.without.length);
    expect((plan.floor - plan.ceiling) / height).toBeGreaterThanOrEqual(width < 330 ? 0.4 : 0.5);
    const labels = labelsOf(plan).toSorted((a, b) => a.top - b.top);
    for (const [i, { top }] of labels.slice(1).entries()) expect(top).toBeGreaterThanOrEqual(labels[i]!.bottom);
    expect(labels).toHaveLength(4);
  });

  it.each(SIZES)('keeps the word for those who gave up from those who wait, on %i x %i pixels', (width, height) => {
    const plan = planOf(width, height, AXES, REQUESTS.without.length);
    const { left, right, ceiling, cell, y } = plan;
    const word = width < 480 ? 64 : 180;
    const [top, bottom] = [ceiling + 8, ceiling + 24];
    const met = [];
    for (let now = 0; now <= 1000 * END_SECONDS; now += 25) {
      const waiting = REQUESTS.without.filter(({ sentAt, endedAt }) => sentAt <= now && now < endedAt);
      if (!REQUESTS.without.some(({ endedAt, outcome }) => outcome === 'failed' && endedAt <= now)) continue;
      const end = failedWordEnd(plan, waiting[0]?.sentAt ?? now, word);
      const dots = waiting.filter(({ sentAt }) => {
        const [x, at] = [left + (sentAt / CITY.rushMs) * (right - left), y(now - sentAt)];
        return x > end - word - cell && x < end + cell && at > top && at < bottom;
      });
      if (dots.length > 0 || end - word < left || end > right) met.push(now);
    }
    expect(met).toEqual([]);
  });
});
