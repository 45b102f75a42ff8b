import { ATTEMPTS } from '../../riders/index.js';
import { capacityOf, cityOf } from '../city.js';
import type { SurgeOptions } from '../options.js';
import { DRIVERS, rushOf, TRIP_SECONDS } from '../run-case.js';
import { figure } from './text-table.js';

/** The size of the surge in paragraphs. */
export function settingOf(options: SurgeOptions): string[] {
  const { pods, riders, demand, queue, patienceMs, cancel, newestFirst, seed, store, scale } = options;
  const city = cityOf(scale);
  const { workers, serviceMs, limit } = city;
  const name = scale === 1 ? 'in full' : `divided by ${scale}`;
  const stores = store === 'redis' ? 'one Redis' : 'in-process stores';
  return [
    `Processes: ${pods} of the application on ${stores}, one matching service, one load generator. Seed ${seed}.`,
    `Riders: ${figure(riders)}. A rider opens the app, sends 1 to 3 requests with pauses of 0.1 to 0.3 s, and closes the app. ` +
      `If every request is served at once, all riders send ${figure(demand)} requests/s (reported: 379). ` +
      `${figure(rushOf(demand))} further riders arrive in the first two seconds. When answers take long, riders pile up.`,
    `A rider leaves a request after ${figure(patienceMs / 1000)} s, repeats it a second after an error and when Retry-After says after ` +
      `a 429, and gives up after ${ATTEMPTS} attempts.`,
    `Matching, ${name}: ${workers} workers of ${serviceMs} ms serve ${figure(capacityOf(city))} requests/s. ` +
      `Its queue has ${figure(queue)} places, and ${newestFirst ? 'serves the newest first while it is long' : 'keeps the order of arrival'}. ` +
      `${cancel ? 'It drops the work for riders who have left.' : 'The work for riders who have left goes on.'} ` +
      `Its limit: ${figure(limit.refill)}/s, burst ${figure(limit.capacity)}.`,
    `Drivers: ${figure(DRIVERS)} with trips of ${TRIP_SECONDS} s, enough for every match.`,
  ];
}
