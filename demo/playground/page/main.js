import { readLink } from '../model/link.js';
import { PRESETS, presetOf } from '../model/presets.js';
import { DEFAULTS } from '../model/settings.js';
import { MAX_TIME_MS, paceOf } from '../model/traffic.js';
import { watchColors } from './colors.js';
import { actButton, button, byId, say, seconds, tell } from './dom.js';
import { Numbers } from './numbers.js';
import { Player } from './player.js';
import { Result } from './result.js';
import { Rows } from './rows.js';
import { Address, wireShare } from './share.js';
import { Traffic } from './traffic.js';

const STEP_MS = 1000;
const FAST = 5;

const result = new Result();
/** @type {Player} */
const player = new Player(DEFAULTS, [], {
  draw: () => draw(),
  change: () => changed(),
  feed: (to) => traffic.flow(to),
});
const address = new Address(player);
const traffic = new Traffic(player, result);
const rows = new Rows(player.timeline, () => traffic.crash());
const numbers = new Numbers((settings, before, isOtherScale) => {
  const { events, now } = player.timeline;
  const { from, isExample } = player;
  // Another unit of the window stretches the traffic as well, so that the picture keeps its shape.
  const scale = isOtherScale ? settings.windowMs / before.windowMs : 1;
  const scaled = (/** @type {number} */ at) => Math.min(MAX_TIME_MS, Math.round(at * scale));
  const same = events.map(({ at, kind }) => ({ at: scaled(at), kind }));
  result.tell('The same requests, decided again with these settings.');
  player.restart(settings, same, scaled(now), settings.windowMs === before.windowMs ? from : undefined);
  player.isExample = isExample;
  tellStory(settings);
});
const clock = byId('clock', HTMLOutputElement);
const pace = byId('pace', HTMLElement);
const presets = PRESETS.map((preset) => {
  const one = actButton(preset.label, () => {
    show(preset);
    player.rests = true;
  });
  byId('presets', HTMLElement).append(one);
  return { preset, one };
});

function draw() {
  rows.draw(player);
  say(clock, seconds(player.timeline.now * 1000));
}

function changed() {
  say(button('play'), player.playing ? 'Pause' : 'Play');
  const times = paceOf(player.timeline.settings.windowMs);
  tell(pace, times === 1 ? '' : `${Number(times.toPrecision(3)).toLocaleString('en-US')} times as fast`);
  traffic.sayRates();
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
  player.skip(Math.round(STEP_MS * paceOf(player.timeline.settings.windowMs)));
}

function toggle() {
  if (player.playing) player.pause();
  else player.play();
}

/**
 * Shows a picture, which stands still.
 *
 * @param {import('../model/link.js').Shared} shared
 */
function show({ settings, events, now, from }) {
  const { preset } = presetOf(settings);
  traffic.stop();
  player.pause();
  rows.arrange(preset.algorithm);
  player.restart(settings, events, now, from);
  player.isExample = JSON.stringify(events) === JSON.stringify(preset.events);
  numbers.show(settings);
  tellStory(settings);
  result.tell('Send requests, and read here what became of them. The first one begins an empty timeline.');
  tell(byId('notice', HTMLElement), '');
}

/**
 * Presses the preset that the settings are, and tells its story. Other numbers have none.
 *
 * @param {import('../model/settings.js').Settings} settings
 */
function tellStory(settings) {
  const { preset: origin, isCustomised } = presetOf(settings);
  for (const { preset, one } of presets) {
    one.setAttribute('aria-pressed', String(preset === origin && !isCustomised));
  }
  const customised = `Customised: these are your numbers, no longer those of “${origin.label}”.`;
  say(byId('story', HTMLElement), isCustomised ? customised : origin.story);
  rows.fit(isCustomised ? undefined : origin.algorithm);
}

/** Shows what the address holds, or the first preset, which plays. */
function load() {
  const link = readLink(location.hash);
  const [first] = PRESETS;
  if (link === undefined) {
    if (first !== undefined) show(first);
    player.play();
    return;
  }
  show(link.shared);
  if (link.problems.length > 0) {
    const problems = link.problems.join('; ');
    tell(byId('notice', HTMLElement), `This link is damaged: ${problems}. Defaults stand for that.`);
  }
  result.tell('A shared picture: it stands still as it was shared. Play goes on from here.');
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
// Text of a canvas stays in the font that was there when it was drawn.
document.fonts.addEventListener('loadingdone', draw);
new ResizeObserver(draw).observe(byId('rows', HTMLElement));
addEventListener('hashchange', () => {
  if (location.hash !== address.hash) load();
});
load();
