/** @typedef {import('../stage/surge-tick.js').DrawnRequests} DrawnRequests */
/** @typedef {import('../stage/surge-tick.js').SentRequest} SentRequest */
/** @typedef {import('../stage/surge-tick.js').AnsweredRequest} AnsweredRequest */

/** Requests appear this long after they were sent, so that those of the next tick begin at the top, too. More than the time between two ticks. */
export const LAG_MS = 320;
/** From the riders to the limits. */
export const FALL_MS = 480;
/** From the limits to a place in matching's queue. */
export const PASS_MS = 320;
export const BOUNCE_MS = 750;
/** A failed request turns red in its place before it leaves. */
export const TURN_MS = 600;
export const LEAVE_MS = 600;
/** A request without an answer leaves after this time: the run has been stopped, or the answer was lost. */
export const LONGEST_MS = 15_000;
/** Requests with an answer are kept for the timeline. */
export const KEPT_MS = 13_000;
/** More than three times what 50 requests per second leave here. Beyond it the oldest requests go. */
export const MOST_REQUESTS = 2000;

/**
 * `coming`: not visible yet. `falling`: to the limits. `passing`: from the limits to the queue. `waiting`: in the queue. `refused`, `served`,
 * `failed`: on its way out. `gone`: not visible any more.
 *
 * @typedef {'coming' | 'falling' | 'passing' | 'waiting' | 'refused' | 'served' | 'failed' | 'gone'} Stage
 */

/** A request in the picture. Instants are of the page's clock, in milliseconds. */
export class DrawnRequest {
  /** @type {AnsweredRequest | undefined} */
  answer;
  /** @type {number | undefined} */
  heardAt;
  /** Its place in matching's queue, also while it leaves. @type {{ row: number, column: number } | undefined} */
  slot;
  /** Whether the place is still its own. */
  holds = false;

  /**
   * @param {SentRequest} sent
   * @param {number} startsAt when it leaves the riders in the picture
   * @param {number} across its place between the left edge and the right one, 0 to 1
   */
  constructor(sent, startsAt, across) {
    this.sent = sent;
    this.startsAt = startsAt;
    this.across = across;
    this.gateAt = startsAt + FALL_MS;
    this.queueAt = this.gateAt + PASS_MS;
    this.endsAt = startsAt + LONGEST_MS;
  }

  /** Milliseconds from the request to its answer. */
  get tookMs() {
    return this.answer === undefined ? undefined : Math.max(0, this.answer.atMs - this.sent.atMs);
  }

  /**
   * The picture shows the fall after it has happened. A request therefore waits in the queue as long as its answer took.
   *
   * @param {AnsweredRequest} answer
   * @param {number} now
   */
  hear(answer, now) {
    this.answer = answer;
    this.heardAt = now;
    if (answer.outcome === 'refused') {
      this.outAt = Math.max(this.gateAt, now);
      this.endsAt = this.outAt + BOUNCE_MS;
    } else {
      this.outAt = Math.max(this.queueAt + (this.tookMs ?? 0), now);
      this.endsAt = this.outAt + LEAVE_MS + (answer.outcome === 'failed' ? TURN_MS : 0);
    }
  }

  /** @param {number} now @returns {Stage} */
  stage(now) {
    if (now >= this.endsAt) return 'gone';
    if (this.answer !== undefined && this.outAt !== undefined && now >= this.outAt) return this.answer.outcome;
    return this.way(now);
  }

  /** The stage as if no answer was known. @param {number} now @returns {'coming' | 'falling' | 'passing' | 'waiting'} */
  way(now) {
    if (now < this.startsAt) return 'coming';
    if (now < this.gateAt) return 'falling';
    return now < this.queueAt ? 'passing' : 'waiting';
  }
}

/** The requests of one world that the page draws: what each does at which moment. It knows nothing of pixels. */
export class RequestsModel {
  /** In the order of sending. @type {DrawnRequest[]} */
  requests = [];
  /** @type {Map<number, DrawnRequest>} */
  unanswered = new Map();
  /** Places of the queue in a row. */
  columns = 40;
  rows = 7;
  /** @type {Set<number>} */
  taken = new Set();
  count = 0;

  clear() {
    this.requests = [];
    this.unanswered.clear();
    this.taken.clear();
    this.count = 0;
  }

  /**
   * @param {DrawnRequests} drawn
   * @param {number} ahead milliseconds from the page's clock to the clock of the run
   * @param {number} now
   */
  hear(drawn, ahead, now) {
    for (const sent of drawn.sent) {
      // The golden ratio spreads neighbours evenly. Both worlds meet the same crowd and show a request at the same place.
      const across = (++this.count * 0.618034) % 1;
      // A late tick delays its requests in the picture. Otherwise they would appear in the middle of their fall.
      const request = new DrawnRequest(sent, Math.max(sent.atMs - ahead + LAG_MS, now), across);
      this.requests.push(request);
      this.unanswered.set(sent.id, request);
    }
    for (const answer of drawn.answered) {
      // Unknown: the page came later than the request, or does not wait for the answer any more.
      this.unanswered.get(answer.id)?.hear(answer, now);
      this.unanswered.delete(answer.id);
    }
    this.forget(now);
  }

  /** @param {number} now */
  forget(now) {
    const excess = this.requests.length - MOST_REQUESTS;
    this.requests = this.requests.filter((request, i) => {
      const isKept = i >= excess && (request.stage(now) !== 'gone' || now < (request.heardAt ?? 0) + KEPT_MS);
      if (!isKept) {
        this.leaveSlot(request);
        if (this.unanswered.get(request.sent.id) === request) this.unanswered.delete(request.sent.id);
      }
      return isKept;
    });
  }

  /** Gives places in the queue to those that pass, and takes them from those that leave. @param {number} now */
  advance(now) {
    for (const request of this.requests) {
      const stage = request.stage(now);
      if (stage === 'passing' || stage === 'waiting') this.takeSlot(request);
      else if (stage !== 'failed' || now >= request.endsAt - LEAVE_MS) this.leaveSlot(request);
    }
  }

  /** @param {number} now whether any request moves or waits */
  isBusy(now) {
    return this.requests.some((request) => request.stage(now) !== 'gone');
  }

  /** @param {number} columns @param {number} rows */
  resize(columns, rows) {
    if (columns === this.columns && rows === this.rows) return;
    this.columns = columns;
    this.rows = rows;
    this.taken.clear();
    for (const request of this.requests) {
      request.slot = undefined;
      request.holds = false;
    }
  }

  /** Takes the nearest place of a low row. @param {DrawnRequest} request */
  takeSlot(request) {
    if (request.slot !== undefined) return;
    const wanted = request.across * this.columns;
    let best = { row: this.rows - 1, column: Math.floor(wanted) };
    let least = Infinity;
    for (let column = 0; column < this.columns; column++) {
      let row = 0;
      while (row < this.rows && this.taken.has(this.index({ row, column }))) row++;
      // A row higher is worth a way of six places: the queue fills like sand.
      const effort = row * 6 + Math.abs(column + 0.5 - wanted);
      if (row < this.rows && effort < least) {
        best = { row, column };
        least = effort;
      }
    }
    request.slot = best;
    request.holds = true;
    this.taken.add(this.index(best));
  }

  /** @param {DrawnRequest} request */
  leaveSlot(request) {
    if (request.slot === undefined || !request.holds) return;
    request.holds = false;
    this.taken.delete(this.index(request.slot));
  }

  /** @param {{ row: number, column: number }} slot */
  index({ row, column }) {
    return row * this.columns + column;
  }
}
