import { RANGES, readSetting, shownSetting } from '../model/settings.js';
import { byId, make, tell } from './dom.js';

/** @typedef {import('../model/settings.js').Settings} Settings */
/** @typedef {import('../model/settings.js').SettingName} SettingName */

/** The sliders, each with a number beside it. A number that is wrong changes nothing, and is explained. */
export class Numbers {
  /** @type {Map<SettingName, { slider: HTMLInputElement, number: HTMLInputElement }>} */
  #fields = new Map();
  /** @type {Map<SettingName, string>} */
  #problems = new Map();
  #wrong = byId('wrong', HTMLElement);
  #changed;

  /** @param {(name: SettingName, value: number) => void} changed */
  constructor(changed) {
    this.#changed = changed;
    for (const fieldset of document.querySelectorAll('fieldset[data-settings]')) {
      const names = fieldset.getAttribute('data-settings') ?? '';
      for (const name of names.split(' ')) fieldset.append(this.#field(/** @type {SettingName} */ (name)));
    }
    // On a phone the timeline comes first.
    byId('numbers', HTMLDetailsElement).open = !matchMedia('(max-width: 48rem)').matches;
  }

  /** @param {Settings} settings */
  show(settings) {
    for (const [name, { slider, number }] of this.#fields) {
      const text = shownSetting(name, settings[name]);
      slider.value = text;
      number.value = text;
      this.#judge(name, '');
    }
  }

  /** @param {SettingName} name */
  #field(name) {
    const { label, unit, min, max, step } = RANGES[name];
    const [slider, number] = [make('input', ''), make('input', '')];
    for (const [input, type] of /** @type {const} */ ([
      [slider, 'range'],
      [number, 'number'],
    ])) {
      Object.assign(input, { type, min: String(min), max: String(max), step: String(step) });
      input.dataset.setting = name;
    }
    slider.setAttribute('aria-label', `${label}, slider`);
    number.setAttribute('aria-describedby', 'wrong');
    number.id = `setting-${name}`;
    slider.addEventListener('input', () => {
      number.value = slider.value;
      this.#read(name, slider.value);
    });
    number.addEventListener('input', () => this.#read(name, number.value));
    this.#fields.set(name, { slider, number });
    const caption = make('label', '', label);
    caption.htmlFor = number.id;
    return make('div', 'field', caption, number, make('span', 'unit', unit), slider);
  }

  /**
   * @param {SettingName} name
   * @param {string} text
   */
  #read(name, text) {
    const value = readSetting(name, text);
    this.#judge(name, typeof value === 'string' ? value : '');
    if (typeof value === 'string') return;
    const field = this.#fields.get(name);
    if (field !== undefined) field.slider.value = shownSetting(name, value);
    this.#changed(name, value);
  }

  /**
   * @param {SettingName} name
   * @param {string} problem
   */
  #judge(name, problem) {
    if (problem === '') this.#problems.delete(name);
    else this.#problems.set(name, problem);
    this.#fields.get(name)?.number.setAttribute('aria-invalid', String(problem !== ''));
    const rest = this.#problems.size > 0 ? '. The picture keeps the number before.' : '';
    tell(this.#wrong, [...this.#problems.values()].join('. ') + rest);
  }
}
