import { readLink } from '../model/link.js';
import { PRESETS, presetOf } from '../model/presets.js';
import { DEFAULTS } from '../model/settings.js';
import { MAX_TIME_MS, paceOf } from '../model/traffic.js';
import { make, say } from '../../palette/elements.js';
import { watchColors } from './colors.js';
import { actButton, button, byId, seconds, tell } from './dom.js';
import { MARKUP } from './markup.js';
import { Numbers } from './numbers.js';
import { Player } from './player.js';
import { Result } from './result.js';
import { Rows } from './rows.js';
import { Address, wireShare } from './share.js';
import { Traffic } from './traffic.js';

const STEP_MS = 1000;
const FAST = 5;

/**
 * Shows the playground, once on a page. Its style sheets are playground.css and controls.css, which the page loads.
 *
 * @param {HTMLElement} root an element of the page, which gets one child
 * @param {{ home?: string }} [options] `home`: the address of the playground's own page, which links lead to; default this page, whose
 *   address holds what is shown
 * @returns {{ destroy(): void }}
 */
export function mountPlayground(root, { home } = {}) {
  const gone = new AbortController();
  const { signal } = gone;
  const element = make('div', 'fp');
  element.innerHTML = MARKUP;
  root.append(element);

  const result = new Result((algorithm) => rows.shows(algorithm));
  /** @type {Player} */
  const player = new Player(DEFAULTS, [], {
    draw: () => draw(),
    change: () => changed(),
    feed: (to) => traffic.flow(to),
  });
  const rows = new Rows(player.timeline, () => traffic.crash());
  const address = new Address(player, rows, home);
  const traffic = new Traffic(player, result);
  const numbers = new Numbers((settings, before, isOtherScale) => {
    const { events, now } = player.timeline;
    const { from, isExample } = player;
    // Another unit of the window stretches the traffic as well, so that the picture keeps its shape.
    const scale = isOtherScale ? settings.windowMs / before.windowMs : 1;
    const scaled = (/** @type {number} */ at) => Math.min(MAX_TIME_MS, Math.round(at * scale));
    const same = events.map(({ at, kind }) => ({ at: scaled(at), kind }));
    result.tell('The same requests, decided again with these settings.');
    player.restart(settings, same, scaled(now), settings.windowMs === before.windowMs ? from : undefined, isExample);
  });
  const clock = byId('clock', HTMLOutputElement);
  const pace = byId('pace', HTMLElement);
  const presets = PRESETS.map((preset) => {
    const one = actButton(preset.label, () => {
      show({ ...preset, isAll: rows.isAll });
      player.rests = true;
    });
    byId('presets', HTMLElement).append(one);
    return { preset, one };
  });

  const draw = () => {
    rows.draw(player);
    say(clock, seconds(player.timeline.now * 1000));
  };

  const changed = () => {
    const { settings } = player.timeline;
    say(button('play'), player.playing ? 'Pause' : 'Play');
    const times = paceOf(settings.windowMs);
    tell(pace, times === 1 ? '' : `${Number(times.toPrecision(3)).toLocaleString('en-US')} times as fast`);
    traffic.sayRates();
    ask(settings);
    address.writeSoon();
  };

  /**
   * Asks the question of the preset that is shown, and presses its button. Other numbers and other requests are no preset.
   *
   * @param {import('../model/settings.js').Settings} settings
   */
  const ask = (settings) => {
    const { preset: origin, isCustomised } = presetOf(settings);
    const isPreset = player.isExample && !isCustomised;
    for (const { preset, one } of presets) one.setAttribute('aria-pressed', String(isPreset && preset === origin));
    const [question, answer] = isPreset
      ? [origin.question, origin.answer]
      : isCustomised
        ? ['What passes with your numbers?', `These are your numbers, no longer those of “${origin.label}”.`]
        : ['What becomes of your requests?', `The numbers are those of “${origin.label}”.`];
    say(byId('question', HTMLElement), question);
    say(byId('answer', HTMLElement), answer);
    rows.fit(isPreset ? origin.pair[0] : undefined);
  };

  const clear = () => {
    traffic.stop();
    result.tell('The timeline is empty. Send requests.');
    tell(byId('notice', HTMLElement), '');
    player.restart(player.timeline.settings, [], 0);
  };

  const step = () => {
    player.pause();
    player.skip(Math.round(STEP_MS * paceOf(player.timeline.settings.windowMs)));
  };

  const toggle = () => {
    if (player.playing) player.pause();
    else player.play();
  };

  /** @param {boolean} isAll */
  const arrange = (isAll) => {
    rows.arrange(presetOf(player.timeline.settings).preset.pair, isAll);
    button('all').setAttribute('aria-pressed', String(isAll));
    draw();
    address.writeSoon();
  };

  /**
   * Shows a picture, which stands still.
   *
   * @param {import('../model/link.js').Shared} shared
   */
  const show = ({ settings, events, now, from, isAll = false }) => {
    traffic.stop();
    player.pause();
    const isExample = JSON.stringify(events) === JSON.stringify(presetOf(settings).preset.events);
    player.restart(settings, events, now, from, isExample);
    numbers.show(settings);
    arrange(isAll);
    result.tell('Send requests, and read here what became of them. The first one begins an empty timeline.');
    tell(byId('notice', HTMLElement), '');
  };

  /** Shows what the address holds, or the first preset, which plays. */
  const load = () => {
    const link = home === undefined ? readLink(location.hash) : undefined;
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
  };

  /** @type {Readonly<Record<string, () => void>>} */
  const keys = {
    t: () => traffic.tap(),
    b: () => traffic.burst('once'),
    e: () => traffic.edge(),
    p: toggle,
    s: step,
  };
  // Keys work where the timeline or a button has the focus, so that they disturb no other use of the keyboard.
  for (const place of ['timeline', 'controls']) {
    byId(place, HTMLElement).addEventListener('keydown', (event) => {
      const typing = event.target instanceof HTMLInputElement || event.target instanceof HTMLSelectElement;
      if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
      const act = keys[event.key.toLowerCase()];
      if (act === undefined) return;
      event.preventDefault();
      act();
    });
  }

  button('play').addEventListener('click', toggle);
  button('step').addEventListener('click', step);
  button('clear').addEventListener('click', clear);
  button('all').addEventListener('click', () => arrange(!rows.isAll));
  button('speed').addEventListener('click', () => {
    player.speed = player.speed === 1 ? FAST : 1;
    button('speed').setAttribute('aria-pressed', String(player.speed !== 1));
  });
  wireShare(address, (omitted) => {
    if (omitted > 0) result.tell(`The link is long: it leaves out the ${omitted} oldest requests.`);
  });
  watchColors(draw, signal);
  // Text of a canvas stays in the font that was there when it was drawn.
  document.fonts.addEventListener('loadingdone', draw, { signal });
  new ResizeObserver(draw).observe(byId('rows', HTMLElement));
  if (home === undefined) {
    addEventListener(
      'hashchange',
      () => {
        if (location.hash !== address.hash) load();
      },
      { signal },
    );
  }
  load();
  return {
    destroy() {
      gone.abort();
      player.pause();
      element.remove();
    },
  };
}
