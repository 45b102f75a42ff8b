import { CITY, type City } from '../hero/model/city.js';
import { type Request, rush } from '../hero/model/rush.js';
import { type Figure, type Mark, type Row, seconds } from './scene.js';

/** A small server before which people wait in a queue: the model of the rush on the first page, with smaller numbers. */
const SERVER: City = { ...CITY, workers: 1, serviceMs: 200, rushMs: 12_000, roundTripMs: 0, demand: 10 };
/** Requests a second that it can do. */
export const CAN_DO = (1000 * SERVER.workers) / SERVER.serviceMs;
export const PATIENCE = SERVER.patienceMs / 1000;
const RUSH = SERVER.rushMs / 1000;
/** Who has so much patience does not leave in this rush. */
const ENDLESS_MS = 1_000 * SERVER.rushMs;
/** Requests a second that come to the limit: twice what the server can do. */
export const CROWD = SERVER.demand;
/** Refused requests lie below the floor, in so many rows, so that each is seen. */
const LANES = 3;

/** Requests that the limit lets pass at once. */
const BURST = 2;

const perSecond = (value: number): string => `${value} a second`;

/** When the last one has an answer, or has left. */
function endOf(requests: readonly Request[]): number {
  return requests.reduce((latest, { endedAt }) => Math.max(latest, endedAt), 0) / 1000;
}

function marksOf(requests: readonly Request[], lane: number): readonly Mark[] {
  return requests.map(({ sentAt, endedAt, outcome }, i) => {
    const [at, until] = [sentAt / 1000, endedAt / 1000];
    const y = outcome === 'refused' ? -lane * (0.75 + (i % LANES)) : until - at;
    return { at, until, x: at, y, kind: outcome };
  });
}

function countsOf(requests: readonly Request[]): Readonly<Record<Request['outcome'], number>> & { longest: number } {
  const counts = { served: 0, refused: 0, failed: 0, longest: 0 };
  for (const { outcome, sentAt, endedAt } of requests) {
    counts[outcome]++;
    if (outcome === 'served') counts.longest = Math.max(counts.longest, (endedAt - sentAt) / 1000);
  }
  return counts;
}

/** @param lane the height of a row of refused requests, in seconds */
function rowOf(
  requests: readonly Request[],
  top: number,
  lane: number,
): Pick<Row, 'width' | 'bottom' | 'top' | 'marks' | 'axis'> {
  return {
    width: RUSH,
    bottom: -lane * (LANES + 0.25),
    top,
    marks: marksOf(requests, lane),
    axis: ['0 s', 'when they come', seconds(RUSH)],
  };
}

export const QUEUE: Figure = {
  title: 'A queue',
  controls: [{ name: 'demand', label: 'Requests', min: 1, max: 10, step: 1, value: 7, shown: perSecond }],
  sceneOf({ demand = 0 }) {
    const requests = rush({ ...SERVER, demand, patienceMs: ENDLESS_MS }, false);
    const last = requests.at(-1)!;
    const come = `${demand} requests a second come, and the server can do ${CAN_DO}`;
    return {
      end: endOf(requests),
      rows: [
        {
          ...rowOf(requests, 13, 0.2),
          lines: [3, 6, 9, 12].map((y) => ({ y, text: y === 12 ? 'waits 12 s' : seconds(y) })),
          legend: [
            ['served', 'got an answer'],
            ['waiting', 'waiting'],
          ],
        },
      ],
      says:
        demand <= CAN_DO
          ? `${come}: an answer takes ${seconds(countsOf(requests).longest)} at most.`
          : `${come}: the queue grows, and whoever comes last waits ${seconds((last.endedAt - last.sentAt) / 1000)}.`,
    };
  },
};

const LEAVES = [{ y: PATIENCE, text: `${seconds(PATIENCE)}: people leave` }];

export const COLLAPSE: Figure = {
  title: 'A queue, and people with 3 seconds of patience',
  controls: [{ name: 'demand', label: 'People', min: 1, max: 15, step: 1, value: 10, shown: perSecond }],
  sceneOf({ demand = 0 }) {
    const requests = rush({ ...SERVER, demand }, false);
    const { served, failed } = countsOf(requests);
    const all = requests.length;
    return {
      end: endOf(requests),
      rows: [
        {
          ...rowOf(requests, 3.6, 0.09),
          lines: LEAVES,
          legend: [
            ['served', 'got an answer'],
            ['failed', 'waited and left'],
            ['waiting', 'waiting'],
          ],
        },
      ],
      says:
        failed === 0
          ? `${demand} people a second come: all ${all} of them get their answer in time.`
          : `${demand} people a second come: ${served} of ${all} get their answer. The server does the work for the other ${failed}, too, who have left by then.`,
    };
  },
};

export const LIMIT: Figure = {
  title: 'The same rush behind a limit',
  controls: [{ name: 'limit', label: 'The limit', min: 1, max: CROWD, step: 1, value: CAN_DO, shown: perSecond }],
  sceneOf({ limit: refill = 0 }) {
    const requests = rush({ ...SERVER, limit: { capacity: BURST, refill } }, true);
    const { served, refused, failed, longest } = countsOf(requests);
    const without = countsOf(rush(SERVER, false)).served;
    const limit = `A limit of ${perSecond(refill)}`;
    return {
      end: endOf(requests),
      rows: [
        {
          ...rowOf(requests, 3.6, 0.2),
          lines: LEAVES,
          legend: [
            ['served', 'got an answer'],
            ['refused', 'told “not now” at once'],
            ['failed', 'waited and left'],
            ['waiting', 'waiting'],
          ],
        },
      ],
      says:
        failed > 0
          ? `${limit} is more than the server can do: the queue is back, and ${failed} people wait for nothing.`
          : refill > CAN_DO
            ? `${limit} is more than the server can do: an answer takes ${seconds(longest)} by the end, and more if the rush goes on.`
            : `${limit}: ${served} people get an answer within ${seconds(longest)}, and ${refused} are told “not now” at once. Without the limit, ${without} get one.`,
    };
  },
};
