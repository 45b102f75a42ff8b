import dns from 'node:dns';
import { closeSync, constants, open, openSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

/** How a name lookup behaves: the milliseconds that it takes, or that it hangs. */
export type LookupWeather = number | 'hangs';

type Found = (error: Error | null, address: string | { address: string; family: number }[], family?: number) => void;

const HOST = 'redis.chaos';
const ADDRESS = '127.0.0.1';
const RELEASE_MS = 10;

/**
 * Answers lookups of Redis's name, late or not at all. A lookup that hangs holds one of libuv's threads, as the C library's
 * does: it opens a FIFO without a writer.
 */
export class Lookup {
  private weather: LookupWeather = 0;
  private hanging = 0;

  /** Must run before other code imports `lookup`. @param fifo the path of the FIFO */
  constructor(private readonly fifo: string) {
    const original = dns.lookup;
    const lookup = (host: string, options: unknown, callback?: Found): void => {
      const found = (callback ?? options) as Found;
      if (host !== HOST) Reflect.apply(original, dns, [host, options, callback]);
      else this.find(() => answer(options, found));
    };
    Object.assign(dns, { lookup });
    const promised = (host: string, options: unknown): Promise<unknown> =>
      new Promise((resolve) => {
        lookup(host, options ?? {}, (_, address, family) =>
          resolve(typeof address === 'string' ? { address, family } : address),
        );
      });
    const originalPromised = dns.promises.lookup;
    Object.assign(dns.promises, {
      lookup: (host: string, options: unknown) =>
        host === HOST ? promised(host, options) : Reflect.apply(originalPromised, dns.promises, [host, options]),
    });
    syncBuiltinESMExports();
  }

  set(weather: LookupWeather): void {
    this.weather = weather;
    if (weather !== 'hangs') this.release();
  }

  private find(done: () => void): void {
    if (this.weather !== 'hangs') {
      setTimeout(done, this.weather);
      return;
    }
    this.hanging++;
    open(this.fifo, constants.O_RDONLY, (_, file) => {
      this.hanging--;
      if (file !== undefined) closeSync(file);
      done();
    });
  }

  /** Opens the FIFO for writing until no lookup hangs in it. */
  private release(): void {
    if (this.hanging === 0 || this.weather === 'hangs') return;
    try {
      closeSync(openSync(this.fifo, constants.O_WRONLY | constants.O_NONBLOCK));
    } catch {
      // No lookup has opened it yet.
    }
    setTimeout(() => this.release(), RELEASE_MS);
  }
}

function answer(options: unknown, found: Found): void {
  const all = typeof options === 'object' && options !== null && (options as { all?: boolean }).all === true;
  if (all) found(null, [{ address: ADDRESS, family: 4 }]);
  else found(null, ADDRESS, 4);
}
