/** @typedef {import('../live.js').TrialResult} TrialResult */

/**
 * @param {'PUT' | 'POST'} method
 * @param {string} path
 * @param {object} body
 */
async function ask(method, path, body) {
  const response = await fetch(`control-room/${path}`, {
    method,
    headers: { 'Content-Type': 'application/json', 'X-Control-Room': '1' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  const answer = text === '' ? undefined : JSON.parse(text);
  if (response.ok) return answer;
  throw new Error(answer?.message ?? `the server answered ${response.status}`);
}

/**
 * Has the server send requests to the lane's endpoint, over HTTP.
 *
 * @param {string} lane
 * @param {boolean} many
 * @returns {Promise<TrialResult>}
 */
export function send(lane, many) {
  return ask('POST', 'trials', { lane, many });
}

/**
 * @param {'concert' | 'enforcement'} what
 * @param {boolean} on
 * @returns {Promise<void>}
 */
export function turn(what, on) {
  return ask('PUT', what, { on });
}
