import { describe, expect, it } from '@jest/globals';
import * as fc from 'fast-check';
import type { AnsweredRequest, DrawnRequests, SentRequest } from '../stage/surge-tick.js';
import { columnsIn, HEIGHT, motionMarks, nearest, ROWS, timelineMarks, timelineSpan } from './requests-layout.js';
import {
  BOUNCE_MS,
  type DrawnRequest,
  FALL_MS,
  KEPT_MS,
  LAG_MS,
  LEAVE_MS,
  LONGEST_MS,
  MOST_REQUESTS,
  PASS_MS,
  RequestsModel,
  type Stage,
  TURN_MS,
} from './requests-model.js';

/** The page's clock is this far behind that of the run. */
const AHEAD = 4000;
const WIDTH = 560;

const ride = (id: number, atMs: number): SentRequest => ({
  id,
  atMs,
  route: 'rides',
  rider: `rider-${id}`,
  isFollowed: false,
});

const answerTo = (id: number, atMs: number, outcome: AnsweredRequest['outcome']): AnsweredRequest => ({
  id,
  atMs,
  outcome,
  status: { served: 201, refused: 429, failed: 503 }[outcome],
  retryAfterMs: outcome === 'refused' ? 1200 : null,
  policy: outcome === 'refused' ? 'matching' : null,
});

/** A model that has heard of the requests in one tick. */
function modelOf(sent: readonly SentRequest[], answered: readonly AnsweredRequest[], nowMs: number): RequestsModel {
  const model = new RequestsModel();
  model.hear({ oneOf: 1, sent, answered }, AHEAD, nowMs - AHEAD);
  return model;
}

/** The stages of the only request at instants of the run. */
function stages(model: RequestsModel, ...instants: number[]): (Stage | undefined)[] {
  return instants.map((atMs) => model.requests[0]?.stage(atMs - AHEAD));
}

describe('a drawn request', () => {
  const begin = 5000 + LAG_MS;
  const gate = begin + FALL_MS;
  const queue = gate + PASS_MS;

  it('falls to the limits and waits in the queue until its answer', () => {
    const model = modelOf([ride(1, 5000)], [], 5100);
    expect(stages(model, begin - 1, begin, gate - 1, gate, queue - 1, queue)).toEqual([
      'coming',
      'falling',
      'falling',
      'passing',
      'passing',
      'waiting',
    ]);
  });

  it('bounces off the limits at once', () => {
    const model = modelOf([ride(1, 5000)], [answerTo(1, 5003, 'refused')], 5100);
    expect(stages(model, gate - 1, gate, gate + BOUNCE_MS - 1, gate + BOUNCE_MS)).toEqual([
      'falling',
      'refused',
      'refused',
      'gone',
    ]);
  });

  it.each([
    ['served', LEAVE_MS],
    ['failed', TURN_MS + LEAVE_MS],
  ] as const)('waits as long as its answer took, then leaves as %s', (outcome, leaveMs) => {
    const model = modelOf([ride(1, 5000)], [], 5100);
    const out = queue + 2500;
    model.hear({ oneOf: 1, sent: [], answered: [answerTo(1, 7500, outcome)] }, AHEAD, 7600 - AHEAD);
    expect(stages(model, queue, out - 1, out, out + leaveMs - 1, out + leaveMs)).toEqual([
      'waiting',
      'waiting',
      outcome,
      outcome,
      'gone',
    ]);
  });

  it('falls from the top even if its tick came late', () => {
    const model = modelOf([ride(1, 5000)], [], 7000);
    expect(stages(model, 7000, 7000 + FALL_MS)).toEqual(['falling', 'passing']);
    expect(motionMarks(model, WIDTH, 7000 - AHEAD)[0]?.y).toBeLessThan(30);
  });

  it('turns back from where it is when its 429 comes late', () => {
    const model = modelOf([ride(1, 5000)], [], 5100);
    const now = queue + 1000 - AHEAD;
    model.advance(now);
    const [before] = motionMarks(model, WIDTH, now);
    model.hear({ oneOf: 1, sent: [], answered: [answerTo(1, 5900, 'refused')] }, AHEAD, now);
    const [after] = motionMarks(model, WIDTH, now);
    expect(after).toMatchObject({ x: before!.x, y: before!.y, shape: 'refused' });
  });
});

/** Ticks of a run: some answers come in the tick of the request, some ticks late, some never. */
const runs = fc
  .array(
    fc.record({
      atMs: fc.integer({ min: 0, max: 4000 }),
      tookMs: fc.option(fc.integer({ min: 0, max: 4000 }), { freq: 8 }),
      outcome: fc.constantFrom('served', 'refused', 'failed'),
    }),
    { maxLength: 180, size: 'max' },
  )
  .map((requests): { atMs: number; drawn: DrawnRequests }[] => {
    const sent = requests.map(({ atMs }, id) => ride(id, atMs));
    const answered = requests.flatMap(({ atMs, tookMs, outcome }, id) =>
      tookMs === null ? [] : [answerTo(id, atMs + tookMs, outcome)],
    );
    return Array.from({ length: 41 }, (_, i) => {
      const inTick = ({ atMs }: { atMs: number }): boolean => Math.floor(atMs / 260) === i;
      return { atMs: (i + 1) * 260, drawn: { oneOf: 1, sent: sent.filter(inTick), answered: answered.filter(inTick) } };
    });
  });

/** Whether it stands at its place of the queue: it waits, or has just turned red. */
function rests(request: DrawnRequest, now: number): boolean {
  const stage = request.stage(now);
  return stage === 'waiting' || (stage === 'failed' && now < request.endsAt - LEAVE_MS);
}

describe('the model', () => {
  it('draws each request once, inside the picture, and no two at one place of the queue', () => {
    fc.assert(
      fc.property(runs, fc.integer({ min: 300, max: 900 }), (ticks, width) => {
        const model = new RequestsModel();
        model.resize(columnsIn(width), ROWS);
        for (const { atMs, drawn } of ticks) {
          const now = atMs - AHEAD;
          model.hear(drawn, AHEAD, now);
          model.advance(now);
          const marks = motionMarks(model, width, now);
          const visible = model.requests.filter((request) => !['coming', 'gone'].includes(request.stage(now)));
          expect(marks.map(({ request }) => request.sent.id)).toEqual(visible.map(({ sent }) => sent.id));
          const misdrawn = marks.filter(({ request, x, y, shape }) => {
            const stage = request.stage(now);
            const isOut = stage === 'served' || stage === 'refused' || stage === 'failed';
            return shape !== (isOut ? stage : 'open') || x < 0 || x > width || y <= 0 || y >= HEIGHT;
          });
          expect(misdrawn).toEqual([]);
          const resting = marks.filter(({ request }) => rests(request, now));
          const places = new Set(resting.map(({ x, y }) => `${x.toFixed(1)} ${y.toFixed(1)}`));
          expect(places.size).toBe(resting.length);
        }
      }),
      { numRuns: 25, endOnFailure: true },
    );
  });

  it('keeps nothing for ever, and no place in the queue', () => {
    fc.assert(
      fc.property(runs, (ticks) => {
        const model = new RequestsModel();
        for (const { atMs, drawn } of ticks) {
          model.hear(drawn, AHEAD, atMs - AHEAD);
          model.advance(atMs - AHEAD);
        }
        const end = ticks.at(-1)!.atMs - AHEAD + LONGEST_MS + LAG_MS + KEPT_MS;
        model.advance(end);
        expect(motionMarks(model, WIDTH, end)).toEqual([]);
        expect(model.isBusy(end)).toBe(false);
        expect(model.taken.size).toBe(0);
        model.hear({ oneOf: 1, sent: [], answered: [] }, AHEAD, end);
        expect(model.requests).toEqual([]);
        expect(model.unanswered.size).toBe(0);
      }),
      { numRuns: 25, endOnFailure: true },
    );
  });

  it('bounds its memory whatever the server sends', () => {
    const model = new RequestsModel();
    for (let i = 0; i < 100; i++) {
      const sent = Array.from({ length: 100 }, (_, j) => ride(i * 100 + j, 5000 + i));
      model.hear({ oneOf: 1, sent, answered: [] }, AHEAD, 1000 + i);
      model.advance(3000 + i);
    }
    expect(model.requests).toHaveLength(MOST_REQUESTS);
    expect(model.unanswered.size).toBe(MOST_REQUESTS);
    expect(model.taken.size).toBeLessThanOrEqual(model.columns * model.rows);
  });

  it('ignores answers to requests that it does not know', () => {
    const model = modelOf([], [answerTo(9, 5000, 'served')], 5100);
    expect(model.requests).toEqual([]);
  });

  it('forgets everything at a new run, in which the IDs begin again', () => {
    const model = modelOf([ride(1, 5000)], [], 5100);
    model.clear();
    model.hear({ oneOf: 1, sent: [ride(1, 10)], answered: [answerTo(1, 13, 'refused')] }, AHEAD, 20);
    expect(model.requests.map(({ tookMs }) => tookMs)).toEqual([3]);
  });
});

describe('the timeline', () => {
  it('gives each answer a fixed place in the row of its outcome', () => {
    const sent = [1, 2, 3, 4].map((id) => ride(id, 1000));
    const answered = [
      answerTo(1, 1100, 'served'),
      answerTo(2, 1100, 'served'),
      answerTo(3, 1003, 'refused'),
      answerTo(4, 3900, 'failed'),
    ];
    const model = modelOf(sent, answered, 4000);
    const marks = timelineMarks(model, WIDTH, 4000);
    expect(marks.map(({ shape }) => shape)).toEqual(['served', 'served', 'refused', 'failed']);
    const [one, two, refused, failed] = marks;
    expect(two).toMatchObject({ x: one!.x });
    expect(one!.y - two!.y).toBeGreaterThan(5);
    expect(refused!.y).toBeGreaterThan(one!.y);
    expect(failed!.y).toBeGreaterThan(refused!.y);
    expect(failed!.x).toBeGreaterThan(one!.x);
    expect(timelineMarks(model, WIDTH, 11_900)).toEqual(marks);
  });

  it('moves on in steps, and keeps the half before', () => {
    const span = (atMs: number, width: number): [number, number] => {
      const { from, seconds } = timelineSpan(atMs, width);
      return [from, from + seconds];
    };
    expect([0, 11_999, 12_000, 18_000].map((atMs) => span(atMs, WIDTH))).toEqual([
      [0, 12],
      [0, 12],
      [6, 18],
      [12, 24],
    ]);
    expect(span(7000, 320)).toEqual([3, 9]);
  });
});

describe('nearest', () => {
  const [request] = modelOf([ride(1, 5000)], [], 5100).requests;
  const at = (x: number, y: number) => ({ request: request!, x, y, shape: 'open' as const, size: 1 });

  it('finds the nearest mark within reach, the upper one of two', () => {
    const marks = [at(10, 10), at(30, 10), at(30, 10)];
    expect(nearest(marks, 27, 12, 12)).toBe(marks[2]);
    expect(nearest(marks, 13, 12, 12)).toBe(marks[0]);
    expect(nearest(marks, 50, 50, 12)).toBeUndefined();
  });
});
