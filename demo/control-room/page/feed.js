/** @typedef {import('../live.js').LiveEvents} LiveEvents */

const RETRY_MS = 4000;
/** The server sends an event at least every second. */
const SILENCE_MS = 5000;

/**
 * Follows the server's events, and connects again when the connection is lost.
 *
 * @param {object} on
 * @param {(room: LiveEvents['room']) => void} on.room
 * @param {(tick: LiveEvents['tick']) => void} on.tick
 * @param {(state: 'connecting' | 'live' | 'away') => void} on.state
 */
export function follow(on) {
  /** @type {EventSource | undefined} */
  let source;
  let heardAt = 0;

  const connect = () => {
    source?.close();
    source = new EventSource('control-room/events');
    heardAt = performance.now();
    source.addEventListener('room', ({ data }) => {
      heardAt = performance.now();
      on.state('live');
      on.room(JSON.parse(data));
    });
    source.addEventListener('tick', ({ data }) => {
      heardAt = performance.now();
      on.state('live');
      on.tick(JSON.parse(data));
    });
    source.addEventListener('error', () => on.state('away'));
  };

  connect();
  // An EventSource reconnects when a connection breaks, but not after an error status or during silence.
  setInterval(() => {
    const silent = performance.now() - heardAt > SILENCE_MS;
    if (silent) on.state('away');
    if (silent || source?.readyState === EventSource.CLOSED) connect();
  }, RETRY_MS);
}
