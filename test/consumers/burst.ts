/** What the templates allow, without any refill during a test. */
const CAPACITY = 20;

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

/**
 * Sends 21 requests in order, in turn to each process: 20 pass, and the last one is rejected.
 *
 * @throws {Error} with what is wrong
 */
export async function burst(urls: readonly string[]): Promise<void> {
  const answers: Answer[] = [];
  for (let i = 0; i <= CAPACITY; i++) answers.push(await get(`${urls[i % urls.length]!}/burst`));
  const statuses = answers.map(({ status }) => status);
  const expected = [...Array.from({ length: CAPACITY }, () => 200), 429];
  if (statuses.join() !== expected.join()) {
    throw new Error(`The statuses of a burst are ${statuses.join(' ')}, expected 20 times 200 and a 429`);
  }
  expectRejection(answers[CAPACITY]!);
}

function expectRejection({ headers, body }: Answer): void {
  const seconds = headers.get('retry-after');
  // The bucket refills one token an hour.
  if (seconds === null || !/^\d+$/.test(seconds) || Number(seconds) < 1 || Number(seconds) > 3600) {
    throw new Error(`Retry-After of the 429 is ${seconds}, expected 1 to 3600 seconds`);
  }
  const shown = ['x-ratelimit-limit', 'x-ratelimit-remaining'].map((name) => headers.get(name));
  if (shown.join() !== `${CAPACITY},0`)
    throw new Error(`X-RateLimit-Limit and -Remaining of the 429 are ${shown.join()}`);
  const { statusCode, error, policy, retry_after: retryAfter } = JSON.parse(body) as Record<string, unknown>;
  const rest = [statusCode, error, policy, retryAfter];
  const expected = [429, 'rate_limit_exceeded', 'burst', Number(seconds)];
  if (JSON.stringify(rest) !== JSON.stringify(expected)) {
    throw new Error(`The body of the 429 is ${body}, expected ${JSON.stringify(expected)} in it`);
  }
}

/** @throws {Error} when the application's metrics do not count the burst */
export async function expectMetrics(url: string): Promise<void> {
  const { status, body } = await get(`${url}/metrics`);
  const counted = body.split('\n').find((line) => line.startsWith('rate_limit') && /policy="burst"/.test(line));
  if (status !== 200 || counted === undefined)
    throw new Error(`/metrics (${status}) does not count the burst:\n${body}`);
}

async function get(url: string): Promise<Answer> {
  const response = await fetch(url, { signal: AbortSignal.timeout(10_000) });
  return { status: response.status, headers: response.headers, body: await response.text() };
}
