import type { Identity } from './edit-module.js';
import type { Client, Metrics } from './package-file.js';

/** The site that messages lead to: `homepage` of package.json, as a test compares. */
export const SITE = 'https://floodgate-nest.github.io/floodgate/';

/** What a choice of the identity asks for elsewhere. */
export const ABOUT_IDENTITY: Readonly<Record<Identity, string | undefined>> = {
  ip: undefined,
  user: `Users are counted where a guard of the root module, or of a module imported before, has set request.user: ${SITE}identity#before-and-after-authentication`,
  'api-key': `X-API-Key counts as it comes. A gateway must check it, or clients invent keys: ${SITE}identity#count-by-headers-behind-a-gateway`,
};

const MEASURED: Readonly<Record<Metrics, string>> = {
  'prom-client': "The metrics are in prom-client's global registry.",
  opentelemetry:
    'The metrics, such as rate_limit.requests, go where your OpenTelemetry SDK sends the others. Start it before the application.',
};

/** What to do after `nest add`. */
export function nextSteps(client: Client | 'none', metrics: Metrics | 'none'): string {
  const redis =
    client === 'none'
      ? 'Each process counts for itself. Before you start several, install ioredis or redis, and give forRoot redis: process.env.REDIS_URL.'
      : 'Set REDIS_URL in each process, such as redis://localhost:6379. Without it each process counts for itself.';
  const measured = metrics === 'none' ? '' : `\n3. ${MEASURED[metrics]} ${SITE}metrics lists them.`;
  return `
Next:
1. Limit a route:

   import { RateLimit } from 'nestjs-floodgate';

   @Get()
   @RateLimit({ algorithm: 'token-bucket', capacity: 20, refill: '100/h' }) // a burst of 20, then 100 per hour

2. ${redis}${measured}
${metrics === 'none' ? 3 : 4}. Read ${SITE}policies for the other limits, and ${SITE}production before you deploy.`;
}
