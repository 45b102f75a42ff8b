/** @typedef {import('../live.js').LaneDescription} LaneDescription */
/** @typedef {LaneDescription['policies'][number]} Policy */

/**
 * One row for all lanes whose policies differ in numbers only.
 *
 * @param {readonly LaneDescription[]} lanes
 * @returns {{ title: string, lanes: LaneDescription[] }[]}
 */
export function rowsOf(lanes) {
  /** @type {Map<string, LaneDescription[]>} */
  const rows = new Map();
  for (const lane of lanes) rows.set(lane.row, [...(rows.get(lane.row) ?? []), lane]);
  return Array.from(rows, ([title, of]) => ({ title, lanes: of }));
}

/**
 * The policies that several lanes share, each once, with the lanes that it guards. The state of such a policy is one, so it is drawn once.
 *
 * @param {readonly LaneDescription[]} lanes
 * @returns {{ policy: Policy, lanes: LaneDescription[] }[]}
 */
export function sharedOf(lanes) {
  /** @type {Map<string, { policy: Policy, lanes: LaneDescription[] }>} */
  const shared = new Map();
  for (const lane of lanes) {
    for (const policy of lane.policies) {
      if (!policy.shared) continue;
      const known = shared.get(policy.name);
      if (known === undefined) shared.set(policy.name, { policy, lanes: [lane] });
      else known.lanes.push(lane);
    }
  }
  return [...shared.values()].filter((one) => one.lanes.length > 1);
}

/**
 * What refused, in words.
 *
 * @param {string} name of the policy
 * @param {readonly Policy[]} policies of the lane
 * @param {string} rider
 */
export function refuserText(name, policies, rider) {
  const policy = policies.find((one) => one.name === name);
  if (policy === undefined) return `“${name}”`;
  const subject = name === 'default' ? 'this route’s limit' : `“${name}”`;
  return `${subject}, ${policy.shared ? 'shared by all clients' : `for ${rider} alone`}`;
}

/** @param {readonly string[]} names */
export function listed(names) {
  return new Intl.ListFormat('en', { type: 'conjunction' }).format(names);
}
