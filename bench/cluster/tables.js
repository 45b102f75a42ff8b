import { median, ratio } from '../measure.js';
import { figure } from '../table.js';

const COLUMNS = [
  { head: 'decisions/s', key: 'throughput', digits: 0 },
  { head: 'Node us', key: 'node', digits: 2, compared: true },
  { head: 'Redis us', key: 'redis', digits: 2, compared: true },
  { head: 'hottest us', key: 'hottest', digits: 2, compared: true },
  { head: 'requests a call', key: 'perCall', digits: 2 },
];

/**
 * Contestants in pairs, Floodgate and its peer, each pair on servers of its own. A ratio is that of Floodgate to its peer.
 *
 * @param {{ deployment: { name: string }, ours: object[], theirs: object[] }[]} pairs with the samples of both
 */
export function pairsTable(title, pairs) {
  const line = (name, mine, other) => [
    name,
    ...COLUMNS.flatMap(({ key, digits, compared }) => {
      const text = median(mine.map((sample) => sample[key])).toFixed(digits);
      return compared ? [text, other ? figure(ratio(mine, other, key).median) : '1'] : [text];
    }),
  ];
  const lines = pairs.flatMap(({ deployment: { name }, ours, theirs }) => [
    line(`Floodgate, ${name}`, ours, theirs),
    line(`rate-limiter-flexible, ${name}`, theirs),
  ]);
  return { title, head: ['', ...COLUMNS.flatMap(({ head, compared }) => (compared ? [head, 'to'] : [head]))], lines };
}

/** How even the load of the servers is. */
export function sharesTable(title, samples) {
  const lines = [...samples].map(([name, mine]) => {
    const middle = (key) => median(mine.map((sample) => sample[key]));
    return [name, ...COLUMNS.map(({ key, digits }) => middle(key).toFixed(digits)), middle('share').toFixed(2)];
  });
  return { title, head: ['', ...COLUMNS.map(({ head }) => head), "hottest's share"], lines };
}
