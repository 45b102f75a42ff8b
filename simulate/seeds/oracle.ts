// The invariants: what the documentation promises, asked of the history of a run. Each function returns what was broken, in sentences.
import type { Textbook } from '../../lab/textbook/textbook.js';
import type { PolicyDecision } from '../../libs/floodgate/src/policy/decision.js';
import { BEGINNING } from '../time/virtual-globals.js';
import type { Asked, History, Level, Process, Span } from './history.js';

const MS = 1000;
/** Microseconds after which a request must have its answer: the deadline, and a little. */
const ANSWERED = 80 * MS;
/** Microseconds after which a trouble shows no more: connections are opened again, and what was kept is sent. */
const RECOVERY = 3_000 * MS;
/** Milliseconds of a trouble that costs no answer: the connection stays, however late the answer is. */
const HARMLESS_MS = 150;
const HARMLESS = new Set(['delay', 'hang', 'stall']);

/** What something may have cost: both numbers are the same where it is certain. */
export interface Range {
  readonly least: number;
  readonly most: number;
}

export const exactly = (cost: number): Range => ({ least: cost, most: cost });

/** What a policy said to a request; undefined if the store did not decide it, or another policy took it. */
export function decisionOf({ decided }: Asked, policy: string): PolicyDecision | undefined {
  const { decidedBy, policies } = decided?.value ?? {};
  return decidedBy === 'store' || decidedBy === 'prefetch' ? policies?.find((one) => one.policy === policy) : undefined;
}

/** Whether the store decided it, and the process knows it. */
export function isSure({ decided }: Asked): boolean {
  return decided?.value !== undefined;
}

/** Whether nothing was wrong for a process from an instant to another one, or only what costs no answer. */
export function isCalm({ spans }: History, { pod }: Process, from: number, to: number, harmless = false): boolean {
  return !spans.some(
    (span) =>
      (span.pod === undefined || span.pod === pod) &&
      span.from <= to &&
      span.to + RECOVERY >= from &&
      !(harmless && HARMLESS.has(span.what) && span.to - span.from <= HARMLESS_MS * MS),
  );
}

/** The first trouble of a process or of Redis after an instant. */
export function firstTrouble({ spans }: History, { pod }: Process, after: number): number {
  const begins = spans.filter((span) => isOf(span, pod) && span.what !== 'flush' && span.to >= after);
  return Math.min(Infinity, ...begins.map(({ from }) => from));
}

function isOf(span: Span, pod: number): boolean {
  return span.pod === undefined || span.pod === pod;
}

/** The instant of a decision by Redis's clock: microseconds since 1970. */
export function instantOf({ decided }: Asked): number {
  return Math.round(decided!.value!.decidedAtMs * MS);
}

/** The real instant of a decision, and which step of Redis's clock was before it. Undefined where steps leave it open. */
export function placeOf(
  { clocks }: History,
  asked: Asked,
): { readonly epoch: number; readonly real: number } | undefined {
  const at = instantOf(asked) - BEGINNING;
  const places = clocks.flatMap(({ ahead }, epoch) => {
    const real = at - ahead;
    return real >= asked.askedAt - MS && real <= asked.decided!.at + MS ? [{ epoch, real }] : [];
  });
  return places.length === 1 ? places[0] : undefined;
}

/** What costs what in a strategy: by policy, of a request. */
export type CostOf = (asked: Asked, policy: string) => number;

/** The admissions of a policy for a client, by epoch, in their order. */
function admissions(history: History, policy: string, who: number, costOf: CostOf): Map<number, Admission[]> {
  const byEpoch = new Map<number, Admission[]>();
  for (const asked of history.asked) {
    if (asked.ask.who !== who || asked.decided?.value?.allowed !== true || decisionOf(asked, policy) === undefined)
      continue;
    const place = placeOf(history, asked);
    if (place === undefined) continue; // a part of an exact history is exact
    const list = byEpoch.get(place.epoch) ?? [];
    byEpoch.set(place.epoch, [...list, { asked, at: instantOf(asked), cost: costOf(asked, policy) }]);
  }
  for (const list of byEpoch.values()) list.sort((one, other) => one.at - other.at);
  return byEpoch;
}

interface Admission {
  readonly asked: Asked;
  readonly at: number;
  readonly cost: number;
}

/** Every request has an answer within its deadline, unless its process died or stood still. */
export function answersInTime(history: History): string[] {
  return history.asked.flatMap((one) => {
    const { process, askedAt, decided } = one;
    const until = decided?.at ?? Math.min(process.diedAt ?? Infinity, history.quietAt);
    const isLate = until - askedAt > ANSWERED && !isStalled(history, process, askedAt, until);
    return isLate ? [`${named(one)} had no answer for ${(until - askedAt) / MS} ms`] : [];
  });
}

function isStalled({ spans }: History, { pod }: Process, from: number, to: number): boolean {
  return spans.some(
    (span) => span.what === 'stall' && span.pod === pod && span.from <= to && span.to + RECOVERY >= from,
  );
}

/** A settlement has its answer within the deadline as well. */
export function settlesInTime(history: History): string[] {
  return history.asked.flatMap((one) => {
    const { process, ending, ended } = one;
    if (ending === undefined) return [];
    const until = ended?.at ?? Math.min(process.diedAt ?? Infinity, history.quietAt);
    const isLate = until - ending.at > ANSWERED && !isStalled(history, process, ending.at, until);
    return isLate ? [`the settlement of ${named(one)} had no answer for ${(until - ending.at) / MS} ms`] : [];
  });
}

/** No more is admitted than the textbook admits, for each client and between two steps of Redis's clock. */
export function neverAbove(history: History, policy: string, textbook: () => Textbook, costOf: CostOf): string[] {
  return clientsOf(history).flatMap((who) =>
    [...admissions(history, policy, who, costOf).values()].flatMap((list) => {
      const book = textbook();
      return list.flatMap(({ asked, at, cost }) => {
        const { allowed } = book.ask(at, cost);
        if (!allowed) book.charge(at, cost);
        return allowed ? [] : [`'${policy}' admitted ${named(asked)} beyond its limit`];
      });
    }),
  );
}

/** A rejection tells when its request passes: no such request passes before. */
export function tellsRetries(history: History, policy: string, costOf: CostOf): string[] {
  return clientsOf(history).flatMap((who) => {
    const admitted = admissions(history, policy, who, costOf);
    return history.asked.flatMap((asked) => {
      const decision = asked.ask.who === who ? decisionOf(asked, policy) : undefined;
      if (decision === undefined || decision.allowed || decision.retryAfterMs === null) return [];
      const place = placeOf(history, asked);
      const from = instantOf(asked);
      const to = from + Math.round(decision.retryAfterMs * MS);
      const early = admitted
        .get(place?.epoch ?? NaN)
        ?.find(({ at, cost }) => at > from && at < to && cost >= costOf(asked, policy));
      return early === undefined
        ? []
        : [
            `'${policy}' rejected ${named(asked)} for ${decision.retryAfterMs} ms, and admitted ${named(early.asked)} before`,
          ];
    });
  });
}

/** Nothing is rejected that fits, and in the end the level is that of the textbook. For runs in which all is certain. */
export function agreesWith(history: History, policy: string, textbook: () => Textbook, costOf: CostOf): string[] {
  if (history.clocks.length > 1 || !history.asked.every(isSure)) return [];
  return clientsOf(history).flatMap((who) => {
    const book = textbook();
    const own = history.asked.filter((one) => one.ask.who === who && decisionOf(one, policy) !== undefined);
    const admitted = [...(admissions(history, policy, who, costOf).get(0) ?? [])];
    const broken: string[] = [];
    for (const asked of own.toSorted((one, other) => instantOf(one) - instantOf(other))) {
      if (decisionOf(asked, policy)!.allowed) continue;
      const at = instantOf(asked);
      while (admitted.length > 0 && admitted[0]!.at <= at) charge(book, admitted.shift()!);
      if (book.fits(at, costOf(asked, policy))) broken.push(`'${policy}' rejected ${named(asked)}, which fits`);
    }
    for (const one of admitted) charge(book, one);
    const level = levelOf(history, policy, who);
    const [remaining, resetAfter] = [book.remaining(level.at), book.resetAfter(level.at)];
    if (level.remaining !== remaining || level.resetAfter !== resetAfter) {
      broken.push(
        `'${policy}' has ${level.remaining} left for client ${who} and ends in ${level.resetAfter} us, expected ${remaining} and ${resetAfter}`,
      );
    }
    return broken;
  });
}

/** A request runs over into another policy only where it does not fit the first one. */
export function runsOverOnly(
  history: History,
  policy: string,
  into: string,
  textbook: () => Textbook,
  costOf: CostOf,
): string[] {
  if (history.clocks.length > 1 || !history.asked.every(isSure)) return [];
  return clientsOf(history).flatMap((who) => {
    const first = admissions(history, policy, who, costOf).get(0) ?? [];
    const over = admissions(history, into, who, costOf).get(0) ?? [];
    return over.flatMap(({ asked, at, cost }) => {
      const book = textbook();
      for (const one of first) if (one.at <= at) charge(book, one);
      return book.fits(at, cost) ? [`${named(asked)} ran over into '${into}', and fits '${policy}'`] : [];
    });
  });
}

function charge(book: Textbook, { at, cost }: Admission): void {
  book.charge(at, cost);
}

/** Nothing is charged twice, and nothing is lost: in the end a policy has counted what its requests may have cost. */
export function countsOnce(history: History, policy: string, range: (asked: Asked) => Range): string[] {
  return clientsOf(history).flatMap((who) => {
    const ranges = history.asked.filter(({ ask }) => ask.who === who).map(range);
    const [least, most] = [sum(ranges.map((one) => one.least)), sum(ranges.map((one) => one.most))];
    const { limit, remaining } = levelOf(history, policy, who);
    const used = limit - remaining;
    return used >= Math.min(limit, least) && used <= most
      ? []
      : [
          `'${policy}' has counted ${used} for client ${who}, expected ${least === most ? least : `${least} to ${most}`}`,
        ];
  });
}

/** Something that is held from an instant to another one. */
export interface Held {
  readonly asked: Asked;
  readonly cost: number;
  readonly from: number;
  readonly to: number;
}

/** Never more is held at once than the limit. */
export function holdsAtMost(limit: number, held: readonly Held[]): string[] {
  return held.flatMap((one) => {
    const atOnce = held.filter(({ from, to }) => from <= one.from && to > one.from);
    const total = sum(atOnce.map(({ cost }) => cost));
    return total <= limit
      ? []
      : [
          `${named(one.asked)} holds a place while ${total - one.cost} of ${limit} are taken, by ${atOnce.map(({ asked }) => named(asked)).join('; ')}`,
        ];
  });
}

/** A place is free again in time: nobody is rejected unless others may hold the places. */
export function rejectsOnlyFull(limit: number, asked: readonly Asked[], mayHold: readonly Held[]): string[] {
  return asked.flatMap((one) => {
    if (one.decided?.value?.allowed !== false) return [];
    const taken = sum(
      mayHold.filter(({ from, to }) => from <= one.decided!.at && to >= one.askedAt).map(({ cost }) => cost),
    );
    return taken + one.ask.cost > limit
      ? []
      : [`${named(one)} was rejected while at most ${taken} of ${limit} places were taken`];
  });
}

export function levelOf({ levels }: History, policy: string, who: number): Level {
  const level = levels.find((one) => one.policy === policy && one.who === who);
  if (level === undefined) throw new Error(`Redis did not tell the level of ${policy} once all was quiet`);
  return level;
}

export function clientsOf({ asked }: History): readonly number[] {
  return [...new Set(asked.map(({ ask }) => ask.who))];
}

/** A request, in words. */
export function named({ ask, process, askedAt, decided }: Asked): string {
  const answer = decided?.value === undefined ? 'no decision' : decided.value.allowed ? 'allowed' : 'rejected';
  return `cost ${ask.cost} of client ${ask.who} at ${(askedAt / MS).toFixed(3)} ms in pod ${process.pod} (${answer})`;
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((one, other) => one + other, 0);
}
