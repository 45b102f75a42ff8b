/** @typedef {import('../live.js').PolicyTick} PolicyTick */
/** @typedef {NonNullable<PolicyTick['override']>} Override */

/** What an override that counts nothing means for the rider. */
export const OVERRIDDEN = {
  exempt: 'the rider is not counted',
  blocked: 'every request is rejected',
};

const instant = new Intl.DateTimeFormat('en', {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  hourCycle: 'h23',
});

/**
 * Such as `override: capacity 5, until Nov 23, 14:05`, in the time of the viewer.
 *
 * @param {Override} override
 */
export function overrideText({ change, expiresAt }) {
  const until = expiresAt === null ? 'until it is removed' : `until ${instant.format(new Date(expiresAt))}`;
  return `override: ${changeText(change)}, ${until}`;
}

/**
 * The overrides of a rider in words. `any`: there is one.
 *
 * @param {string} rider
 * @param {readonly { title: string, overrides: readonly string[] }[]} lanes
 */
export function overridesText(rider, lanes) {
  /** @type {Map<string, string[]>} */
  const titles = new Map();
  for (const { title, overrides } of lanes) {
    for (const text of overrides) titles.set(text, [...(titles.get(text) ?? []), title]);
  }
  const text = Array.from(titles, ([override, of]) => `${of.join(', ')}: ${override}.`).join(' ');
  return { any: text !== '', text: `${rider}: ${text || 'no override.'}` };
}

/** @param {Override['change']} change */
function changeText(change) {
  if (change.exempt) return 'exempt';
  if (change.blocked) return 'blocked';
  return Object.entries(change)
    .map(([name, value]) => `${name} ${numberText(name, value)}`)
    .join(', ');
}

/** @param {string} name @param {unknown} value */
function numberText(name, value) {
  if (typeof value === 'string') return value;
  if (typeof value !== 'number') return JSON.stringify(value); // a calendar
  if (name === 'refill' || name === 'drain') return `${value} per second`;
  return name === 'window' || name === 'lease' ? `${value} ms` : String(value);
}

/**
 * Empty for a policy without plans. A plan that the policy does not tell apart leaves it its own numbers.
 *
 * @param {PolicyTick['plan'] | undefined} plan
 */
export function planText(plan) {
  if (!plan) return '';
  if (!plan.isKnown) return 'plan unknown';
  return plan.name === null ? 'own numbers' : `plan ${plan.name}`;
}
