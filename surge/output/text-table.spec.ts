import { expect, it } from '@jest/globals';
import { change, duration, figure, percent, textTable } from './text-table.js';

it.each([
  [0, '0'],
  [0.0254, '0.025'],
  [0.999, '1'],
  [2.187, '2.19'],
  [99.94, '99.9'],
  [99.96, '100'],
  [1234.5, '1,235'],
  [NaN, '-'],
  [undefined, '-'],
])('writes %p as %s', (value, text) => {
  expect(figure(value)).toBe(text);
});

it('writes shares and changes in percent, and a dash without a comparison', () => {
  expect([percent(0), percent(0.0005), percent(1), percent(NaN), percent(undefined)]).toEqual([
    '0.0 %',
    '0.1 %',
    '100.0 %',
    '-',
    '-',
  ]);
  expect([change(100, 1.5), change(100, 150), change(0, 5), change(NaN, 1)]).toEqual(['-98.5 %', '+50.0 %', '-', '-']);
});

it.each([
  [2.631, '2.63 ms'],
  [999.4, '999 ms'],
  [999.6, '1 s'],
  [4672, '4.67 s'],
  [100_300, '100 s'],
  [NaN, '-'],
])('writes %p ms as %s', (ms, text) => {
  expect(duration(ms)).toBe(text);
});

it('makes columns as wide as their content, and aligns names to the left', () => {
  const table = textTable({
    head: ['', 'a', 'longer'],
    rows: [
      ['name', '1', '22'],
      ['x', '333'],
    ],
  });
  expect(table).toBe(['        a  longer', '----  ---  ------', 'name    1      22', 'x     333'].join('\n'));
});
