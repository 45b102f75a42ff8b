import { setTimeout as delay } from 'node:timers/promises';
import { type Identity, type RateLimiter, LimiterUnavailableError } from 'nestjs-floodgate';
import type { Random } from '../../support/random.js';
import { type Class, DIRECT, HELD_MS, hasClasses, PLACES, type PolicyName, RIDERS } from '../policies.js';
import { now } from '../clock.js';
import { asking, type Recorder } from './recorder.js';

const PAUSE_MS = 130;
const TOGETHER = 4;
const MAX_COST = 2;
const RESERVED = '3s';

/** Calls the limiter without HTTP, as a queue consumer does. */
export class DirectTraffic {
  private turns = 0;
  private ended = false;

  /** @param name the name of the process, which is unique in a run */
  constructor(
    private readonly name: string,
    private readonly limiter: RateLimiter,
    private readonly recorder: Recorder,
    private readonly random: Random,
  ) {}

  /** Makes about 20 calls a second, several in one turn of the event loop. */
  async run(): Promise<void> {
    while (!this.ended) {
      this.askSome();
      await delay(this.random(2 * PAUSE_MS));
    }
  }

  /** Makes no more calls, as a consumer takes no more messages once its process is told to end: the limiter closes. */
  end(): void {
    this.ended = true;
  }

  /** Makes a few calls in one turn of the event loop. */
  askSome(): void {
    if (this.ended) return;
    const { random } = this;
    const turn = this.turns++;
    for (let i = random(TOGETHER); i >= 0; i--) this.askOne(`${this.name}-${turn}-${i}`);
  }

  private askOne(id: string): void {
    const { limiter, recorder, random } = this;
    const policies = [DIRECT[random(DIRECT.length)]!];
    const other = DIRECT[random(DIRECT.length)]!;
    if (random(2) === 0 && other !== policies[0]) policies.push(other);
    if (random(4) === 0) void hold(limiter, recorder, id, random(HELD_MS));
    if (random(8) === 0) void peek(limiter, recorder, policies, RIDERS[random(RIDERS.length)]!);
    const cost = random(4) === 0 ? 1 + random(MAX_COST) : 1;
    // The limiter keeps recent clients, but no API keys. With another kind, new identities would look like a leak.
    const once = !policies.includes('rider') && random(3) > 0;
    const identity = once ? { kind: 'api-key', value: id } : { kind: 'user', value: RIDERS[random(RIDERS.length)]! };
    if (once) policies.push('once');
    const priority: Class | undefined = policies.some(hasClasses) && random(2) === 0 ? 'second' : undefined;
    // A key that belongs to one request is written once: by no settlement.
    const reserves = !once && random(3) === 0;
    const refunded = reserves && random(2) === 0;
    // The ledger numbers charges for good. A reservation that Redis makes after the deadline is given back.
    const all = reserves ? policies : [...policies, 'ledger' as const];
    void ask(limiter, recorder, { id, policies: all, identity, cost, priority, reserves, refunded });
  }
}

interface Question {
  readonly id: string;
  readonly policies: readonly PolicyName[];
  readonly identity: Identity;
  readonly cost: number;
  readonly priority: Class | undefined;
  /** Whether it is a reservation that expires. */
  readonly reserves: boolean;
  /** Whether its expiry refunds it. */
  readonly refunded: boolean;
}

async function ask(limiter: RateLimiter, recorder: Recorder, question: Question): Promise<void> {
  const { id, policies, identity, cost, priority, reserves, refunded } = question;
  const asked = { id, what: policies.join(), user: String(identity.value), address: '', cost, priority, refunded };
  recorder.asked(asked);
  const options = { cost, ...(priority && { priority }) };
  try {
    await asking.run(asked, () =>
      reserves ? reserve(limiter, question, options) : limiter.consume(policies, identity, options),
    );
  } catch (error) {
    if (!(error instanceof LimiterUnavailableError)) recorder.wrong(`consume failed: ${String(error)}`);
  }
}

/**
 * Reserves. What is not refunded is settled at its whole cost, or expires with it. What is refunded is left to its expiry: this process
 * carries it out, or another one if this process has died.
 */
async function reserve(
  limiter: RateLimiter,
  { policies, identity, refunded }: Question,
  options: { readonly cost: number; readonly priority?: Class },
): Promise<void> {
  const atExpiry = refunded ? 'cancel' : 'keep';
  const reservation = await limiter.reserve(policies, identity, { ...options, expires: RESERVED, atExpiry });
  if (reservation.allowed && !refunded && options.cost === 1) await reservation.settle(options.cost);
}

/** Holds a place for a while. */
async function hold(limiter: RateLimiter, recorder: Recorder, id: string, ms: number): Promise<void> {
  recorder.add({ kind: 'places', at: now() });
  recorder.flush(); // as in `asked`
  const asked = { id: `${id}-place`, what: PLACES.name, user: '', address: '', cost: 1 };
  try {
    const lease = await asking.run(asked, () => limiter.acquire(PLACES.name, null));
    await delay(ms);
    lease.release();
  } catch (error) {
    recorder.wrong(`acquire failed: ${String(error)}`);
  }
}

/** Peeks. A peek that charges would show in the ledger. */
async function peek(
  limiter: RateLimiter,
  recorder: Recorder,
  policies: readonly PolicyName[],
  user: string,
): Promise<void> {
  try {
    await limiter.peek([...policies, 'ledger'], { kind: 'user', value: user });
  } catch (error) {
    if (!(error instanceof LimiterUnavailableError)) recorder.wrong(`peek failed: ${String(error)}`);
  }
}
