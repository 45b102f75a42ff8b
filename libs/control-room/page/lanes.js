import { make } from './dom.js';
import { Lane, sharedId } from './lane.js';
import { PolicyView } from './lane-policy.js';
import { listed, rowsOf, sharedOf } from './lane-rows.js';
import { overridesText, overrideText } from './overrides.js';

/** @typedef {import('../live.js').Room} Room */
/** @typedef {import('../live.js').Tick} Tick */
/** @typedef {import('../live.js').LaneDescription} LaneDescription */

/**
 * The limits of this process: a row for each algorithm, and each policy that several rows share once. It fills a section whose
 * `aria-labelledby` is `lanes-title`.
 */
export class Lanes {
  /** @type {Lane[]} */
  lanes = [];
  /** @type {{ view: PolicyView, index: number, lane: LaneDescription }[]} */
  shared = [];
  /** @type {Tick | undefined} */
  tick;
  heardAt = 0;
  told = '';
  built = '';
  rider = make('select', '');
  explains = make('p', 'explains');
  list = make('div', 'lane-list');
  spoken = make('p', 'unseen lanes-spoken');

  /** @param {HTMLElement} place emptied @param {Room} room */
  constructor(place, room) {
    this.rider.id = 'rider';
    this.rider.addEventListener('change', () => this.choose(this.rider.value));
    this.spoken.setAttribute('role', 'status');
    this.list.id = 'lane-list';
    const label = make('label', '', 'The rider');
    label.htmlFor = 'rider';
    const title = make('h2', '', 'The limits of this process');
    title.id = 'lanes-title';
    place.replaceChildren(
      make('div', 'lanes-head', title, make('p', 'choice', label, this.rider), this.explains),
      this.list,
      this.spoken,
    );
    this.enter(room);
  }

  /** The room of a new connection. Choice, results and focus stay if the lanes are the same. @param {Room} room */
  enter({ mode, riders, lanes }) {
    const built = JSON.stringify([mode, riders, lanes]);
    if (this.built === built) return;
    this.built = built;
    const chosen = riders.includes(this.rider.value) ? this.rider.value : (riders[0] ?? '');
    this.rider.replaceChildren(...riders.map((rider) => make('option', '', rider)));
    this.rider.value = chosen;
    this.explains.replaceChildren(
      mode === 'on'
        ? 'The pictures are this rider’s limits, and the buttons send real requests as this rider.'
        : 'The pictures are this rider’s limits. This process only watches, so its buttons are disabled: CONTROL_ROOM=on enables them.',
      ' A limit marked ',
      make('i', 'whose', 'one client'),
      ' counts this rider alone, one marked ',
      make('i', 'whose shared', 'all clients'),
      ' counts every client together.',
    );
    const shared = sharedOf(lanes);
    const elsewhere = shared.map(({ policy }) => policy.name);
    const speak = (/** @type {string} */ text) => this.say(text);
    this.lanes = rowsOf(lanes).map(
      (row) => new Lane(row.lanes, mode === 'on', chosen, { title: row.title, elsewhere, speak }),
    );
    this.shared = shared.map(({ policy, lanes: of }) => {
      const lane = /** @type {LaneDescription} */ (of[0]);
      return { view: new PolicyView(policy), lane, index: lane.policies.indexOf(policy) };
    });
    const places = shared.map(({ policy, lanes: of }, i) => {
      const place = make(
        'article',
        'card shared-policy',
        make(
          'div',
          'about',
          make('h3', '', 'Shared by all clients'),
          make(
            'p',
            'guards',
            `${listed(of.map((lane) => lane.title))}: requests of every client count here, together.`,
          ),
        ),
        make('div', 'policies', /** @type {{ view: PolicyView }} */ (this.shared[i]).view.element),
      );
      place.id = sharedId(policy.name);
      place.tabIndex = -1; // the rows link to it
      return place;
    });
    const [first, ...rest] = this.lanes.map(({ element }) => element);
    // Behind the first row, which it guards.
    this.list.replaceChildren(...(first ? [first] : []), ...places, ...rest);
    if (this.tick !== undefined) this.hear(this.tick);
  }

  /** @param {Tick} tick */
  hear(tick) {
    this.tick = tick;
    this.heardAt = performance.now();
    for (const lane of this.lanes) {
      for (const { id } of lane.routes) {
        const of = tick.lanes[id];
        if (of !== undefined) lane.hear(of, tick.at, id);
      }
    }
    this.seeShared(tick.at);
    this.tellOverrides();
  }

  /** @param {number} now by the clock of the store */
  draw(now) {
    for (const lane of this.lanes) lane.draw(now);
    for (const { view } of this.shared) view.draw(now);
  }

  /** @param {string} rider */
  choose(rider) {
    for (const lane of this.lanes) lane.choose(rider);
    if (this.tick === undefined) return;
    this.seeShared(this.tick.at);
    this.tellOverrides();
    this.draw(this.tick.at + performance.now() - this.heardAt);
  }

  /** @param {number} at */
  seeShared(at) {
    for (const { view, lane, index } of this.shared) {
      view.hear(this.tick?.lanes[lane.id]?.riders[this.rider.value]?.[index], at);
    }
  }

  /** Tells screen readers of overrides when they change. */
  tellOverrides() {
    const shared = this.shared.flatMap(({ view }) => {
      const override = view.tick?.override;
      return override ? [{ title: 'Shared by all clients', overrides: [overrideText(override)] }] : [];
    });
    const told = overridesText(this.rider.value, [...this.lanes, ...shared]);
    // Without an override there is nothing to tell of a rider who had none.
    const isNews = told.text !== this.told && (told.any || this.told.startsWith(`${this.rider.value}: `));
    this.told = told.text;
    if (isNews) this.say(told.text);
  }

  /** @param {string} text */
  say(text) {
    this.spoken.textContent = text; // the same text again is a new result
  }
}
