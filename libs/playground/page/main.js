import { readLink } from '../model/link.js';
import { DEFAULTS } from '../model/settings.js';
import { EXAMPLE } from '../model/traffic.js';
import { watchColors } from './colors.js';
import { button, byId, say, tell } from './dom.js';
import { Numbers } from './numbers.js';
import { Player } from './player.js';
import { Result } from './result.js';
import { Rows } from './rows.js';
import { Address, wireShare } from './share.js';
import { Traffic } from './traffic.js';

const STEP_MS = 1000;
const FAST = 5;

const result = new Result();
const player = new Player(DEFAULTS, [], {
  draw: () => draw(),
  change: () => changed(),
  feed: (to) => traffic.flow(to),
});
const address = new Address(player);
const traffic = new Traffic(player, result);
const rows = new Rows(player.timeline, () => traffic.crash());
const numbers = new Numbers((name, value) => {
  const { settings, events, now } = player.timeline;
  result.tell('The same requests, decided again with these numbers.');
  player.restart({ ...settings, [name]: value }, events, now);
});
const clock = byId('clock', HTMLOutputElement);

function draw() {
  rows.draw(player.timeline, player.playing);
  say(clock, `${(player.timeline.now / 1000).toFixed(1)} s`);
}

function changed() {
  say(button('play'), player.playing ? 'Pause' : 'Play');
  address.writeSoon();
}

function clear() {
  traffic.stop();
  result.tell('The timeline is empty. Send requests.');
  tell(byId('notice', HTMLElement), '');
  player.restart(player.timeline.settings, [], 0);
}

function step() {
  player.pause();
  player.skip(STEP_MS);
}

function toggle() {
  if (player.playing) player.pause();
  else player.play();
}

/** Shows what the address holds, or the example. A shared picture stands still, as it was shared. */
function load() {
  const link = readLink(location.hash);
  traffic.stop();
  const { settings, events, now } = link?.shared ?? { settings: DEFAULTS, ...EXAMPLE };
  player.pause();
  player.restart(settings, events, now);
  numbers.show(settings);
  const problems = link?.problems ?? [];
  const notice = problems.length === 0 ? '' : `This link is damaged: ${problems.join('; ')}. Defaults stand for that.`;
  tell(byId('notice', HTMLElement), notice);
  if (link === undefined) player.play();
  else result.tell('A shared picture: it stands still as it was shared. Play goes on from here.');
}

/** @type {Readonly<Record<string, () => void>>} */
const KEYS = {
  t: () => traffic.tap(),
  b: () => traffic.burst('once'),
  e: () => traffic.edge(),
  p: toggle,
  s: step,
};

/** Keys work where the timeline or a button of the bar has the focus, so that they disturb no other use of the keyboard. */
function wireKeys() {
  for (const place of [byId('timeline', HTMLElement), byId('bar', HTMLElement)]) {
    place.addEventListener('keydown', (event) => {
      const typing = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
      if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
      const act = KEYS[event.key.toLowerCase()];
      if (act === undefined) return;
      event.preventDefault();
      act();
    });
  }
}

button('play').addEventListener('click', toggle);
button('step').addEventListener('click', step);
button('clear').addEventListener('click', clear);
button('speed').addEventListener('click', () => {
  player.speed = player.speed === 1 ? FAST : 1;
  button('speed').setAttribute('aria-pressed', String(player.speed !== 1));
});
wireShare(address, (omitted) => {
  if (omitted > 0) result.tell(`The link is long: it leaves out the ${omitted} oldest requests.`);
});
wireKeys();
watchColors(draw);
new ResizeObserver(draw).observe(byId('rows', HTMLElement));
addEventListener('hashchange', () => {
  if (location.hash !== address.hash) load();
});
load();
