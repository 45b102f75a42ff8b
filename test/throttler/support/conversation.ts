/** One request, sent once the clock has advanced. */
export interface Line {
  /** Milliseconds since the line before. */
  readonly advance: number;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The routes of the application in `fixture/`. */
export const ROUTES: readonly (readonly [method: string, path: string])[] = [
  ['GET', '/catalog'],
  ['GET', '/catalog/search?q=bicycle'],
  ['GET', '/catalog/7'],
  ['POST', '/catalog'],
  ['POST', '/auth/login'],
  ['POST', '/auth/register'],
  ['POST', '/auth/refresh'],
  ['POST', '/auth/reset'],
  ['GET', '/health/live'],
  ['GET', '/health/ready'],
  ['GET', '/health/deep'],
  ['GET', '/internal/metrics'],
  ['GET', '/internal/stats'],
  ['POST', '/internal/flush'],
  ['GET', '/reports'],
  ['GET', '/reports/summary'],
  ['GET', '/reports/export'],
  ['POST', '/reports'],
  ['POST', '/payments'],
  ['PUT', '/payments/card'],
  ['DELETE', '/payments/card'],
  ['GET', '/payments/card'],
  ['GET', '/accounts/me'],
  ['GET', '/accounts/orders'],
  ['PATCH', '/accounts/me'],
  ['POST', '/accounts/me/avatar'],
  ['POST', '/webhooks/github'],
  ['POST', '/webhooks/stripe'],
  ['PUT', '/webhooks/closed'],
  ['PUT', '/webhooks/open'],
];

const SECOND = 1000;
const HOUR = 3600 * SECOND;

/** To every route: so many requests, so many milliseconds after the round before. At, before and after every edge. */
const ROUNDS: readonly (readonly [advance: number, count: number])[] = [
  [0, 2],
  [400, 4],
  [599, 2],
  [1, 3],
  [SECOND, 5],
  [4 * SECOND, 3],
  [4 * SECOND, 2],
  [10 * SECOND, 3],
  [40 * SECOND - 1, 2],
  [1, 9],
  [60 * SECOND, 7],
  [999, 2],
  [60 * SECOND, 7],
  [HOUR - 1, 2],
  [1, 3],
  [HOUR, 6],
  [24 * HOUR, 5],
  [7 * 24 * HOUR, 8],
];

const BROWSER = { 'user-agent': 'browser' };
/** What some requests carry: the users and plans of accounts, a probe, a colleague. */
const CLIENTS: readonly Line['headers'][] = [
  BROWSER,
  { ...BROWSER, 'x-user': 'ada', 'x-plan': 'premium' },
  { ...BROWSER, 'x-user': 'grace' },
  { 'user-agent': 'kube-probe/1.30' },
  { ...BROWSER, 'x-internal': 'yes' },
];

/** All that is said: over 2,000 requests. */
export const CONVERSATION: readonly Line[] = ROUNDS.flatMap(([advance, count], round) =>
  ROUTES.flatMap(([method, path], route) =>
    Array.from({ length: count }, (_, i): Line => {
      const client = (route + i * 3 + round) % 11;
      return {
        advance: route === 0 && i === 0 ? advance : 0,
        method,
        path,
        headers: CLIENTS[client] ?? BROWSER,
      };
    }),
  ),
);
