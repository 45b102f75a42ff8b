import { overlap, type Span, union } from '../clock.js';
import { policyOf, DEADLINE_MS, ROUTES } from '../policies.js';
import { NO_ANSWER, type Sent } from '../run/load.js';
import { type Failure, faultsAround, type Run, stallsOf, touches, type Verdict } from './check.js';

/** The time that a decision may take beyond the deadline, without stalls of its process: two turns of a busy event loop. */
const DECISION_SLACK_MS = 100;
/** The time that an answer may take beyond the deadline: the gate and the route decide one after the other, over HTTP. */
const ANSWER_SLACK_MS = 300;
/** The share of a stall that a process may add to answer the requests that arrived during it. */
const CATCH_UP = 0.5;

/** Checks that each request to a living process is answered in time, with a status that its route allows. */
export function checkAnswers(run: Run): Verdict {
  const failures: Failure[] = [];
  const decision = checkDecisions(run, failures);
  const answer = checkHttp(run, failures);
  const seen = `slowest decision ${decision.toFixed(0)} ms, slowest answer ${answer.toFixed(0)} ms, without stalls of processes and clients`;
  return { name: 'answers', failures, seen };
}

/** Returns the latency of the slowest decision, without stalls. */
function checkDecisions(run: Run, failures: Failure[]): number {
  let slowest = 0;
  for (const { decided: all, stalls, pod, path } of run.histories) {
    for (const { askedAt, decidedAt, request, before } of all) {
      const stalled = stalledMs(stalls, { from: askedAt, to: decidedAt });
      const ms = decidedAt - askedAt - stalled;
      slowest = Math.max(slowest, ms);
      if (ms <= DEADLINE_MS + DECISION_SLACK_MS) continue;
      const caller = before ? 'the gate' : request.policies.join(' + ');
      const text = `${request.id}: ${caller} took ${ms.toFixed(0)} ms to decide, without ${stalled.toFixed(0)} ms of stalls; ${faultsAround(run, pod, decidedAt)}`;
      failures.push({ at: decidedAt, text, kind: 'decision', path });
    }
  }
  return slowest;
}

function stalledMs(stalls: readonly Span[], span: Span): number {
  return overlap(stalls, span) * (1 + CATCH_UP);
}

/** Returns the latency of the slowest HTTP answer, as clients saw it. */
function checkHttp(run: Run, failures: Failure[]): number {
  const stalls = run.away.map((_, pod) => {
    return union([...stallsOf(run.histories, pod), ...run.clientStalled]);
  });
  const delays = new Map<string, number>();
  for (const { requests } of run.histories) {
    for (const { id, decided } of requests) if (decided?.delayMs) delays.set(id, decided.delayMs);
  }
  let slowest = 0;
  for (const sent of run.sent) {
    const span = { from: sent.sentAt, to: sent.endedAt };
    if (touches(run.away[sent.pod]!, span)) continue;
    const stalled = stalledMs(stalls[sent.pod]!, span);
    const ms = span.to - span.from - stalled - (delays.get(sent.id) ?? 0);
    slowest = Math.max(slowest, ms);
    const wrong = wrongWith(sent, ms);
    if (wrong === undefined) continue;
    const text = `${sent.id}, GET /${sent.route} of pod ${sent.pod}: ${wrong}; ${faultsAround(run, sent.pod, sent.endedAt)}`;
    failures.push({ at: sent.endedAt, text, kind: `http ${sent.pod} ${sent.status}` });
  }
  return slowest;
}

function wrongWith({ status, error, route }: Sent, ms: number): string | undefined {
  const limit = 2 * DEADLINE_MS + ANSWER_SLACK_MS;
  // A client that gives up because the whole machine stalled is no failure.
  if (status === 0 && error === NO_ANSWER && ms <= limit) return undefined;
  if (status === 0) return `no answer (${error})`;
  const closed = ROUTES[route].some((name) => policyOf(name).policy.onStoreFailure === 'closed');
  if (![200, 429].includes(status) && !(status === 503 && closed)) return `status ${status}`;
  if (ms > limit) return `answered after ${ms.toFixed(0)} ms, stalls and its slot subtracted`;
  return undefined;
}
