import { byId, say } from './dom.js';
import { follow } from './feed.js';
import { Lanes } from './lanes.js';
import { Pods } from './pods.js';
import { Process } from './process.js';
import { Speaker } from './speaker.js';
import { Stage } from './stage.js';

/** The page draws between two ticks, too: buckets fill, marks and dots move. */
const calm = matchMedia('(prefers-reduced-motion: reduce)');
const LANES_MS = 100;
const CALM_MS = 1000;

const speaker = new Speaker();
const stage = new Stage(speaker);
const process = new Process();
/** @type {Lanes | undefined} */
let lanes;
/** @type {Pods | undefined} */
let pods;
/** Milliseconds from this page's clock to the clock of the store. */
let ahead = 0;

const connection = byId('connection');

follow({
  state: (state) => {
    connection.dataset['state'] = state;
    say(connection, state === 'away' ? 'connection lost, connecting again' : state);
  },
  room: (room) => {
    stage.enter(room);
    byId('pods').hidden = room.mode === 'watch';
    if (room.mode === 'on') pods = new Pods(byId('pods'), room);
    process.recall(room.history.process);
    if (lanes === undefined) lanes = new Lanes(byId('lanes'), room);
    else lanes.enter(room);
  },
  tick: (tick) => {
    ahead = tick.at - performance.now();
    stage.hear(tick);
    process.hear(tick);
    pods?.hear(tick);
    lanes?.hear(tick);
    speaker.turn();
  },
});

let lanesAt = -Infinity;

/** @param {number} now */
function frame(now) {
  requestAnimationFrame(frame);
  const still = calm.matches;
  const lanesDue = now - lanesAt >= (still ? CALM_MS : LANES_MS);
  if (!still || lanesDue) stage.draw();
  if (!lanesDue) return;
  lanesAt = now;
  lanes?.draw(performance.now() + ahead);
}
requestAnimationFrame(frame);
