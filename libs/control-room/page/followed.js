import { make, say, shown } from './dom.js';
import { pictureOf } from './pictures.js';

/** @typedef {import('../stage/surge-tick.js').WorldTick} WorldTick */
/** @typedef {import('../stage/surge-tick.js').FollowedRider} FollowedRider */

/** @type {Readonly<Record<string, string>>} */
const WHOSE = { rider: 'Their own bucket', matching: 'The bucket of all riders' };

/** A share of a whole number of tokens may be a hair below it. */
const ROUNDING = 1e-6;

/** One simulated rider: their own bucket, and the one that all riders share, which is drawn only here. */
export class Followed {
  /** @type {FollowedRider | undefined} */
  rider;
  /** From this page's clock to that of the instants. */
  ahead = 0;
  name = make('b', '', 'a rider');
  counts = make('span', 'counts', countsOf({ sent: 0, served: 0, refused: 0, failed: 0 }));
  views = ['rider', 'matching'].map((policy) => {
    const picture = pictureOf('token-bucket');
    const strong = make('b', 'amount', '–');
    const more = make('span', 'rest', '');
    const element = make(
      'div',
      'followed-bucket',
      picture.element,
      make('p', '', make('span', 'whose-bucket', WHOSE[policy] ?? policy), strong, more),
    );
    element.toggleAttribute('data-unasked', true);
    return { policy, picture, strong, more, element };
  });
  element = make(
    'div',
    'followed',
    make('h3', '', 'One rider, followed: ', this.name),
    this.counts,
    make('div', 'followed-buckets', ...this.views.map(({ element }) => element)),
  );

  /** @param {WorldTick} tick */
  hear({ followed, sample }) {
    this.rider = followed;
    this.enforced = sample.enforced;
    this.ahead = followed.at - performance.now();
    say(this.name, followed.id);
    say(this.counts, countsOf(followed.total));
  }

  /** Draws the buckets between two ticks, too. */
  draw() {
    const { rider } = this;
    if (rider === undefined) return;
    for (const { policy, picture, strong, more, element } of this.views) {
      const tick = rider.policies.find(({ name }) => name === policy)?.tick;
      const counts = this.enforced === true && tick?.state?.algorithm === 'token-bucket' && tick.numbers !== null;
      element.toggleAttribute('data-unasked', !counts);
      if (!counts || !tick.state || !tick.numbers) {
        say(strong, 'not asked');
        say(more, 'limits are off');
        continue;
      }
      const { full } = picture.draw(tick.state, performance.now() + this.ahead, tick.numbers);
      const { limit, perSecond } = tick.numbers;
      say(strong, `${shown(Math.floor(full * limit + ROUNDING))} of ${shown(limit)} tokens`);
      say(more, `refills ${shown(perSecond)} per second`);
      element.dataset['full'] = full.toFixed(3);
    }
  }
}

/** @param {FollowedRider['total']} total */
function countsOf({ sent, served, refused, failed }) {
  return `${shown(sent)} sent: ${shown(served)} served, ${shown(refused)} refused, ${shown(failed)} failed`;
}
