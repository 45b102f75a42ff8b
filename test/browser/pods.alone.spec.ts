import { describe, expect, it, jest } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { until } from '../support/faults/until.js';
import { useBuiltApp } from './support/built-app.js';
import { Viewer } from './support/viewer.js';

jest.setTimeout(120_000); // the first press starts three processes, and the machine may be busy

const PATIENT = { timeout: 60_000 };

const built = useBuiltApp();

/** The section as a person sees it. */
class Section {
  readonly place: Locator;

  constructor(private readonly page: Page) {
    this.place = page.locator('#pods');
  }

  button(name: string): Locator {
    return this.place.getByRole('button', { name });
  }

  radio(name: string): Locator {
    return this.place.getByRole('radio', { name });
  }

  /** The result with this title, once it has changed from what it was. */
  async send(title: string): Promise<string> {
    const card = this.place.locator('section').filter({ has: this.page.getByRole('heading', { name: title }) });
    await this.button('Send 25 to each').click();
    await until('a result', PATIENT.timeout, async () => (await this.spoken()) !== '');
    await until('the result in large', 5000, async () => (await card.getAttribute('data-newest')) !== null);
    return (await card.innerText()).replaceAll(/\s+/g, ' ');
  }

  /** What a screen reader hears. */
  spoken(): Promise<string> {
    return this.place.getByRole('status').innerText();
  }

  /** Colours of the first pod's border, as the palette names them. */
  async isAmber(): Promise<boolean> {
    return this.page.evaluate(() => {
      const probe = document.createElement('i');
      probe.style.color = 'var(--outage)';
      document.body.append(probe);
      const amber = getComputedStyle(probe).color;
      probe.remove();
      const pods = [...document.querySelectorAll('#pods li')];
      return pods.length === 3 && pods.every((pod) => getComputedStyle(pod).borderTopColor === amber);
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (await this.button('Start Redis').isVisible()) await this.button('Start Redis').click();
    await this.radio('No shared store').check();
  }
}

// Of a busy machine: a token that comes back while the requests are under way passes, too, and the page says so.
const SIXTY = /\bthree times the limit (60 of 75 passed 20 \+ 20 \+ 20$|6([1-9]) of 75 passed [\d+ ]+, \2 refilled$)/;
const TWENTY = /^One (?:Redis|store) the limit (20 of 75 passed [\d+ ]+$|2([1-9]) of 75 passed [\d+ ]+, \2 refilled$)/;

describe('three pods and Redis', () => {
  it('sixty pass three pods that count alone, twenty pass on one Redis, and an outage is amber', async () => {
    await using viewer = await Viewer.open(built);
    await using pods = new Section(viewer.page);
    expect(await pods.radio('No shared store').isChecked()).toBe(true);
    expect(await pods.place.innerText()).toContain('Three processes start with the first press, in a few seconds.');

    expect(await pods.send('No shared store')).toMatch(SIXTY);
    expect(await pods.spoken()).toMatch(
      /^No shared store: 6\d of 75 passed: three times the limit.*\. 2\d \+ 2\d \+ 2\d(, \d refilled)?$/,
    );
    await pods.radio('One Redis').check();
    await pods.place.getByText('All count in one Redis, which this page has started').waitFor();
    expect(await pods.send('One Redis')).toMatch(TWENTY);
    await pods.place.getByText('one bucket for all').waitFor();
    expect(await pods.isAmber()).toBe(false);

    await pods.button('Stop Redis').click();
    await until('amber pods', 20_000, () => pods.isAmber());
    const share = /6 of 20 \(localShare: 3\): 18 in all, and no error/;
    await pods.place.locator('.pods-text').getByText(share).waitFor();
    await until('the shares, spoken', 5000, async () => share.test(await pods.spoken()));
    expect(await pods.send('Redis stopped')).toMatch(/below the limit 18 of 75 passed 6 \+ 6 \+ 6$/);
    await pods.button('Start Redis').click();
    await until('pods that are not amber', 20_000, async () => !(await pods.isAmber()));
    await pods.place.getByText('All count in one Redis').waitFor();
    expect(await pods.send('One Redis')).toMatch(TWENTY);
    expect(viewer.troubles).toEqual([]);
  });
});
