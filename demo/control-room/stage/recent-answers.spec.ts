import { expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import { type AnswerKind, RecentAnswers } from './recent-answers.js';

interface Noted {
  readonly atMs: number;
  readonly kind: AnswerKind;
  readonly tookMs: number;
  readonly isRide: boolean;
}

const answer = fc.record({
  afterMs: fc.oneof(fc.nat(3), fc.nat(900), fc.constant(1000)),
  kind: fc.constantFrom<AnswerKind[]>('served', 'refused', 'failed'),
  tookMs: fc.nat(5000),
  isRide: fc.boolean(),
  isRead: fc.boolean(),
});

it('has the rates of the last second and the p99 of the last two, after any history', () => {
  fc.assert(
    fc.property(fc.array(answer, { maxLength: 300 }), fc.nat(2500), (answers, laterMs) => {
      const recent = new RecentAnswers();
      const all: Noted[] = [];
      let nowMs = 0;
      for (const { afterMs, isRead, ...noted } of answers) {
        nowMs += afterMs;
        recent.note(nowMs, noted.kind, noted.tookMs, noted.isRide);
        all.push({ ...noted, atMs: nowMs });
        // A read drops old answers as well.
        expect(isRead ? recent.rates(nowMs) : ratesOf(all, nowMs)).toEqual(ratesOf(all, nowMs));
      }
      for (const atMs of [nowMs, nowMs + laterMs]) {
        expect(recent.rates(atMs)).toEqual(ratesOf(all, atMs));
        expect(recent.p99Ms(atMs)).toBe(p99Of(all, atMs));
      }
    }),
  );
});

function ratesOf(all: readonly Noted[], nowMs: number): object {
  const last = all.filter(({ atMs }) => atMs > nowMs - 1000);
  const count = (kind: AnswerKind): number => last.filter((one) => one.kind === kind).length;
  return {
    served: count('served'),
    refused: count('refused'),
    failed: count('failed'),
    rides: last.filter(({ isRide }) => isRide).length,
  };
}

/** The shortest time that at least 99 % of the answers took at most. */
function p99Of(all: readonly Noted[], nowMs: number): number | null {
  const times = all.flatMap(({ atMs, kind, tookMs }) => (atMs > nowMs - 2000 && kind !== 'refused' ? [tookMs] : []));
  if (times.length === 0) return null;
  const atMost = (limit: number): number => times.filter((time) => time <= limit).length;
  return Math.min(...times.filter((time) => 100 * atMost(time) >= 99 * times.length));
}
