import { say } from '../../palette/elements.js';
import { byId } from './dom.js';
import { follow } from './feed.js';
import { Pods } from './pods.js';
import { RedisSwitch } from './redis-switch.js';
import { Speaker } from './speaker.js';
import { Stage } from './stage.js';

/** The simulation. Its modules lie in other folders, whose names a flat folder of files spells with `~`. */
const HERO = './demo~hero~page~hero.js';

const speaker = new Speaker();
const stage = new Stage(speaker);
/** @type {Pods | undefined} */
let pods;
const redis = new RedisSwitch((problem) => stage.complain(problem));
byId('redis').append(redis.button().element);

const hero = byId('hero');
import(HERO).then(
  ({ mountHero }) => mountHero(hero),
  () => hero.remove(),
);

const connection = byId('connection');

follow({
  state: (state) => {
    connection.dataset['state'] = state;
    say(connection, state === 'away' ? 'connection lost, connecting again' : state);
  },
  room: (room) => {
    stage.enter(room);
    byId('pods').hidden = room.mode === 'watch';
    if (room.mode === 'on') pods ??= new Pods(byId('pods'), room, redis);
  },
  tick: (tick) => {
    stage.hear(tick);
    redis.hear(tick.pods);
    pods?.hear(tick);
    speaker.turn();
  },
});
