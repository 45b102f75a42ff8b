import { Charts } from './charts.js';
import { byId, make, say } from './dom.js';
import { follow } from './feed.js';
import { Lane } from './lane.js';
import { Status } from './status.js';

/** The page draws between two ticks, too: buckets fill and marks move. */
const calm = matchMedia('(prefers-reduced-motion: reduce)');
const DRAW_MS = 100;
const CALM_DRAW_MS = 1000;

const charts = new Charts();
const status = new Status();
/** @type {Lane[]} */
let lanes = [];
/** Milliseconds from this page's clock to the clock of the store. */
let ahead = 0;

const connection = byId('connection');
const riderChoice = /** @type {HTMLSelectElement} */ (byId('rider'));

riderChoice.addEventListener('change', () => {
  for (const lane of lanes) {
    lane.choose(riderChoice.value);
    lane.draw(performance.now() + ahead);
  }
  status.tellOverrides(riderChoice.value, lanes);
});

/** Keeps the choice when the page connects again. @param {readonly string[]} riders */
function offer(riders) {
  const chosen = riders.includes(riderChoice.value) ? riderChoice.value : riders[0];
  riderChoice.replaceChildren(...riders.map((rider) => make('option', '', rider)));
  riderChoice.value = chosen ?? '';
}

follow({
  state: (state) => {
    connection.dataset['state'] = state;
    say(connection, state === 'away' ? 'connection lost, connecting again' : state);
  },
  room: (room) => {
    status.enter(room);
    charts.restart();
    offer(room.riders);
    lanes = room.lanes.map((lane) => new Lane(lane, room.mode === 'on', riderChoice.value));
    byId('lane-list').replaceChildren(...lanes.map(({ element }) => element));
  },
  tick: (tick) => {
    ahead = tick.at - performance.now();
    status.hear(tick);
    charts.add(tick);
    for (const lane of lanes) {
      const of = tick.lanes[lane.id];
      if (of !== undefined) lane.hear(of, tick.at);
    }
    status.speak(charts.last);
    status.tellOverrides(riderChoice.value, lanes);
  },
});

/** @type {ReturnType<typeof setInterval> | undefined} */
let timer;

function animate() {
  clearInterval(timer);
  timer = setInterval(
    () => {
      if (document.hidden) return;
      for (const lane of lanes) lane.draw(performance.now() + ahead);
    },
    calm.matches ? CALM_DRAW_MS : DRAW_MS,
  );
}
animate();
calm.addEventListener('change', animate);
