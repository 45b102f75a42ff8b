import { expect, it } from '@jest/globals';
import { Estimates } from './estimate.js';

const MINUTE = 60_000;

it('an answer is remembered for 10 minutes at least and 20 at most, however many smaller ones follow', () => {
  let now = 5;
  const estimates = new Estimates(() => now);
  const output = (): number => {
    const { all, input } = estimates.of({ model: 'm', max_tokens: 9_000 });
    return all - input;
  };
  expect(output()).toBe(9_000);
  estimates.saw({ model: 'm' }, 4_000, 300);
  const outputs: number[] = [];
  for (let minute = 0; minute <= 30; minute++) {
    now = 5 + minute * MINUTE;
    estimates.saw({ model: 'm' }, 1, 0);
    outputs.push(output());
  }
  expect(outputs.slice(0, 10)).toEqual(Array(10).fill(4_000));
  expect(outputs.slice(20)).toEqual(Array(11).fill(1));
  now += 20 * MINUTE;
  expect(output()).toBe(9_000);
});

it('100 models are remembered: those that answered last', () => {
  const estimates = new Estimates(() => 0);
  for (let i = 0; i < 101; i++) estimates.saw({ model: `m-${i}` }, 7, 0);
  const [first, second] = ['m-0', 'm-1'].map((model) => estimates.of({ model, max_tokens: 50 }));
  expect([first!.all - first!.input, second!.all - second!.input]).toEqual([50, 7]);
});
