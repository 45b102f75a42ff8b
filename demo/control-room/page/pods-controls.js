import { make, say } from '../../palette/elements.js';

/** A quick answer needs no spinner. */
const SPINNER_AFTER_MS = 250;

/** One of two ways to count. */
export class Choice {
  /** @param {string} text @param {boolean} checked @param {() => void} onChoice */
  constructor(text, checked, onChoice) {
    this.input = make('input', '');
    this.input.type = 'radio';
    this.input.name = 'pods-counting';
    this.input.checked = checked;
    this.input.addEventListener('change', onChoice);
    this.text = make('span', '', text);
    this.element = make('label', '', this.input, this.text);
  }

  /** @param {boolean} checked @param {boolean} enabled */
  show(checked, enabled) {
    this.input.checked = checked;
    this.input.disabled = !enabled;
  }

  /** @param {string} text */
  say(text) {
    say(this.text, text);
  }
}

/** A button that shows a spinner while its answer takes long, and keeps the focus meanwhile. */
export class SlowButton {
  busy = false;

  /** @param {string} className @param {string} text @param {string} busyText @param {() => Promise<void>} onPress */
  constructor(className, text, busyText, onPress) {
    this.words = text;
    this.busyText = busyText;
    this.text = make('span', '', text);
    this.element = make('button', `pods-slow ${className}`, make('span', 'pods-spinner'), this.text);
    this.element.type = 'button';
    this.element.addEventListener('click', () => void this.press(onPress));
  }

  /** @param {boolean} enabled */
  enable(enabled) {
    this.element.disabled = !enabled;
  }

  /** @param {string} words */
  say(words) {
    this.words = words;
    if (!this.element.hasAttribute('data-slow')) say(this.text, words);
  }

  /** @param {() => Promise<void>} onPress */
  async press(onPress) {
    if (this.busy) return;
    this.busy = true;
    // Not `disabled`, which would take the focus from who uses the keyboard.
    this.element.setAttribute('aria-disabled', 'true');
    const spinner = setTimeout(() => {
      this.element.toggleAttribute('data-slow', true);
      say(this.text, this.busyText);
    }, SPINNER_AFTER_MS);
    await onPress();
    clearTimeout(spinner);
    this.busy = false;
    this.element.removeAttribute('aria-disabled');
    this.element.removeAttribute('data-slow');
    say(this.text, this.words);
  }
}
