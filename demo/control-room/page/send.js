/**
 * Sends a request that changes something, and returns its answer.
 *
 * @param {string} path
 * @param {'PUT' | 'POST'} method
 * @param {object} content
 * @throws {Error} with the message of an answer that is an error
 */
export async function ask(path, method, content) {
  const init = {
    method,
    headers: { 'Content-Type': 'application/json', 'X-Control-Room': '1' },
    body: JSON.stringify(content),
  };
  const response = await fetch(`control-room/${path}`, init);
  const text = await response.text();
  const answer = text === '' ? undefined : JSON.parse(text);
  if (response.ok) return answer;
  throw new Error(answer?.message ?? `the server answered ${response.status}`);
}

/**
 * Turns something on or off.
 *
 * @param {'surge' | 'worlds/left/limits' | 'worlds/right/limits'} what
 * @param {boolean} on
 * @returns {Promise<void>}
 */
export function turn(what, on) {
  return ask(what, 'PUT', { on });
}
