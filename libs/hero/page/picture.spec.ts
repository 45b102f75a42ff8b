import { describe, expect, it } from '@jest/globals';
import { labelsOf, planOf } from './picture.js';

/** Canvases of the control room, the landing page and the page of the hero, from phones to wide screens. */
const SIZES = [240, 272, 330, 350, 480, 560, 602].flatMap((width) =>
  [208, 240, 280, 384].map((height) => [width, height] as const),
);

describe('the plan of the picture', () => {
  it.each(SIZES)('gives the time until an answer its height on %i x %i pixels, and no words meet', (width, height) => {
    const plan = planOf(width, height);
    expect((plan.floor - plan.ceiling) / height).toBeGreaterThanOrEqual(width < 330 ? 0.4 : 0.5);
    const labels = labelsOf(plan).toSorted((a, b) => a.top - b.top);
    for (const [i, { top }] of labels.slice(1).entries()) expect(top).toBeGreaterThanOrEqual(labels[i]!.bottom);
    expect(labels).toHaveLength(4);
  });

  it('leaves words out where there is no room for them', () => {
    expect(labelsOf(planOf(330, 130)).map(({ seconds }) => seconds)).toEqual([0, 3]);
  });
});
