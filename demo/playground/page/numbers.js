import { problemOf } from '../model/code.js';
import {
  BYS,
  DEFAULTS,
  MONTH_MS,
  RANGES,
  readSetting,
  shownRange,
  shownSetting,
  unitOf,
  UNITS,
} from '../model/settings.js';
import { make, say } from '../../palette/elements.js';
import { byId, tell } from './dom.js';

/** @typedef {import('../model/settings.js').Settings} Settings */
/** @typedef {import('../model/settings.js').SettingName} SettingName */
/** @typedef {import('../model/settings.js').Unit} Unit */
/** @typedef {{ slider: HTMLInputElement, number: HTMLInputElement, hint: HTMLElement, unit?: HTMLSelectElement }} Field */

/** The unit of a window that the calendar counts, which is one of them. */
const MONTH = 'month';

/** Sliders with a number beside each, and what the code says. Settings that are wrong change nothing, and are explained. */
export class Numbers {
  /** @type {Map<SettingName, Field>} */
  #fields = new Map();
  /** @type {Settings} */
  #settings = DEFAULTS;
  #name = byId('setting-name', HTMLInputElement);
  #by = byId('setting-by', HTMLSelectElement);
  #wrong = byId('wrong', HTMLElement);
  #changed;

  /** @param {(settings: Settings, before: Settings, isOtherScale: boolean) => void} changed */
  constructor(changed) {
    this.#changed = changed;
    for (const fieldset of document.querySelectorAll('fieldset[data-settings]')) {
      const names = fieldset.getAttribute('data-settings') ?? '';
      for (const name of names.split(' ')) fieldset.append(this.#field(/** @type {SettingName} */ (name)));
    }
    for (const by of BYS) this.#by.add(new Option(by));
    this.#name.addEventListener('input', () => this.#read(this.#name));
    this.#by.addEventListener('change', () => this.#read(this.#by));
  }

  /** @param {Settings} settings */
  show(settings) {
    this.#settings = settings;
    for (const [name, { slider, number, unit }] of this.#fields) {
      const isTime = RANGES[name].counts === 'time';
      const shownUnit = isTime ? unitOf(settings[name]) : settings.per;
      if (unit !== undefined) unit.value = shownUnit;
      number.value = shownSetting(name, settings[name], shownUnit);
      setSlider(name, slider, number.value);
      number.setAttribute('aria-invalid', 'false');
    }
    this.#showCalendar(settings.calendar === 'month');
    this.#name.value = settings.name;
    this.#by.value = settings.by;
    tell(this.#wrong, '');
  }

  /**
   * A month of the calendar is one, and its field takes no number.
   *
   * @param {boolean} isMonth
   */
  #showCalendar(isMonth) {
    const field = this.#fields.get('windowMs');
    if (field?.unit === undefined) return;
    const { slider, number, unit, hint } = field;
    slider.disabled = isMonth;
    number.readOnly = isMonth;
    say(hint, isMonth ? 'other windows: 30 d' : shownRange(RANGES.windowMs));
    if (!isMonth) return;
    unit.value = MONTH;
    number.value = '1';
    setSlider('windowMs', slider, number.value);
  }

  /** @param {SettingName} name */
  #field(name) {
    const { label, step, counts } = RANGES[name];
    const [slider, number] = [make('input', ''), make('input', '')];
    Object.assign(slider, { type: 'range', step });
    Object.assign(number, { type: 'number', step: 'any', id: `setting-${name}` });
    slider.setAttribute('aria-label', `${label}, slider`);
    const hint = make('span', 'hint', shownRange(RANGES[name]));
    hint.id = `range-${name}`;
    number.setAttribute('aria-describedby', `${hint.id} wrong`);
    slider.addEventListener('input', () => {
      number.value = slider.value;
      this.#read(number);
    });
    number.addEventListener('input', () => this.#read(number));
    /** @type {Field} */
    const field = { slider, number, hint };
    this.#fields.set(name, field);
    const caption = make('label', '', label);
    caption.htmlFor = number.id;
    const element = make('div', 'field', caption, hint, slider, number);
    if (counts === 'time' || name === 'refill') {
      const unit = make('select', '');
      for (const one of Object.keys(UNITS)) unit.add(new Option(counts === 'time' ? one : `/${one}`, one));
      if (name === 'windowMs') unit.add(new Option(MONTH));
      unit.setAttribute('aria-label', `Unit of: ${label}`);
      unit.addEventListener('change', () => this.#read(number, name === 'windowMs'));
      element.append(unit);
      field.unit = unit;
    }
    return element;
  }

  /**
   * @param {HTMLElement} last what a person has changed
   * @param {boolean} [isOtherScale] whether it was the unit of the window
   */
  #read(last, isOtherScale = false) {
    const [before, problems] = [this.#settings, /** @type {string[]} */ ([])];
    const per = /** @type {Unit} */ (this.#fields.get('refill')?.unit?.value);
    const by = /** @type {Settings['by']} */ (this.#by.value);
    const isMonth = this.#fields.get('windowMs')?.unit?.value === MONTH;
    this.#showCalendar(isMonth);
    /** @type {Settings} */
    let next = { ...before, name: this.#name.value, by, per, calendar: isMonth ? 'month' : 'none' };
    for (const [name, { slider, number, unit }] of this.#fields) {
      const isCalendar = name === 'windowMs' && isMonth;
      const typed = /** @type {Unit | undefined} */ (unit?.value);
      const value = isCalendar ? MONTH_MS : readSetting(name, number.value, typed);
      if (typeof value === 'string') problems.push(value);
      else next = { ...next, [name]: value };
      number.setAttribute('aria-invalid', String(typeof value === 'string'));
      if (typeof value !== 'string') setSlider(name, slider, number.value);
    }
    const together = problems.length === 0 ? problemOf(next) : undefined;
    if (together !== undefined) problems.push(together);
    this.#name.setAttribute('aria-invalid', String(together !== undefined && last === this.#name));
    if (together !== undefined) last.setAttribute('aria-invalid', 'true');
    tell(this.#wrong, problems.map((problem) => `${problem}. `).join('') + (problems.length > 0 ? KEPT : ''));
    if (problems.length > 0) return;
    this.#settings = next;
    this.#changed(next, before, isOtherScale);
  }
}

const KEPT = 'The picture keeps the settings before.';

/** @type {(name: SettingName, slider: HTMLInputElement, value: string) => void} */
function setSlider(name, slider, value) {
  const { step, slider: end, max, counts } = RANGES[name];
  const most = counts === 'time' ? end : Math.min(end, max);
  slider.min = String(step);
  slider.max = String(Math.max(most, Number(value)));
  slider.value = value;
}
