/**
 * Says what goes on, and on a terminal for how long, until anything else is printed.
 *
 * @param {string} what such as `Compiling`
 * @returns {() => void} ends the line before that
 */
export function waiting(what) {
  const { stdout, stderr } = process;
  if (!stdout.isTTY) {
    stdout.write(`${what} ...\n`);
    return () => undefined;
  }
  const since = performance.now();
  const line = () => `\r${what} ... ${((performance.now() - since) / 1000).toFixed(1)} s`;
  const own = [stdout, stderr].map((stream) => ({ stream, its: stream.write.bind(stream) }));
  const write = own[0].its;
  write(`${what} ...`);
  const ticks = setInterval(() => write(line()), 200);
  ticks.unref();
  let ended = false;
  const end = () => {
    if (ended) return;
    ended = true;
    clearInterval(ticks);
    // The stream's own method is that of its class.
    for (const { stream } of own) delete stream.write;
    write(`${line()}\n`);
  };
  for (const { stream, its } of own) {
    stream.write = (...args) => {
      end();
      return its(...args);
    };
  }
  return end;
}
