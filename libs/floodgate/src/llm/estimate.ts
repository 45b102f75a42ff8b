import { promptBytes, tokensOf, whole } from './texts.js';

/** What a model is asked: the body of the request, in the shape of its provider. */
export type ModelRequest = object;

interface Asked {
  readonly model?: unknown;
  readonly n?: unknown;
  readonly max_tokens?: unknown;
  readonly max_completion_tokens?: unknown;
  readonly max_output_tokens?: unknown;
}

/** What a call is expected to use, in tokens. */
export interface Estimate {
  readonly input: number;
  readonly all: number;
  /** Tokens of the answer that its texts do not show, such as hidden reasoning. */
  readonly hidden: number;
  /** The most that the answer may have. */
  readonly most: number;
}

/** Tokens that a first answer of a model is taken for, where the request does not bound it. */
const FIRST_OUTPUT = 1_000;
/** The shortest time for which an answer is remembered; the longest is twice that. */
const REMEMBERED_MS = 600_000;
/** How many models are remembered. */
const MODELS = 100;

/** Estimates what calls will use. */
export class Estimates {
  /** The answers by model; the model that was used last is the last. */
  private readonly seen = new Map<unknown, { readonly outputs: Largest; readonly hidden: Largest }>();

  /** @param now milliseconds of a clock that never steps */
  constructor(private readonly now: () => number = () => performance.now()) {}

  /**
   * The length of the prompt, and the longest answer that the model has lately given, at most as many tokens as the request allows. Of
   * several bounds the largest counts: a provider ignores those that are not its own.
   */
  of(request: ModelRequest): Estimate {
    const { model, max_tokens, max_completion_tokens, max_output_tokens } = request as Asked;
    const input = tokensOf(promptBytes(request));
    const given = Math.max(whole(max_tokens) ?? -1, whole(max_completion_tokens) ?? -1, whole(max_output_tokens) ?? -1);
    const bound = given < 0 ? Infinity : given;
    const seen = this.seen.get(model);
    const first = bound === Infinity ? FIRST_OUTPUT : bound;
    const now = this.now();
    const choices = choicesOf(request);
    return {
      input,
      all: input + Math.min(seen?.outputs.at(now) ?? first, bound) * choices,
      hidden: (seen?.hidden.at(now) ?? 0) * choices,
      most: bound * choices,
    };
  }

  /** Remembers what an answer has used, and how much of it its texts did not show. */
  saw(request: ModelRequest, output: number, hidden: number): void {
    const { model } = request as Asked;
    const seen = this.seen.get(model) ?? { outputs: new Largest(), hidden: new Largest() };
    this.seen.delete(model);
    this.seen.set(model, seen);
    const choices = choicesOf(request);
    seen.outputs.add(Math.ceil(output / choices), this.now());
    seen.hidden.add(Math.ceil(hidden / choices), this.now());
    if (this.seen.size > MODELS) this.seen.delete(this.seen.keys().next().value);
  }
}

/** The largest of the last 10 to 20 minutes: a client cannot push it out by many small ones. */
class Largest {
  private since = -Infinity;
  private latest: number | undefined;
  private before: number | undefined;

  add(value: number, now: number): void {
    this.latest = Math.max(value, this.at(now) === undefined ? 0 : (this.latest ?? 0));
  }

  at(now: number): number | undefined {
    if (now - this.since >= REMEMBERED_MS) {
      this.before = now - this.since < 2 * REMEMBERED_MS ? this.latest : undefined;
      this.latest = undefined;
      this.since = now;
    }
    return this.latest === undefined ? this.before : Math.max(this.latest, this.before ?? 0);
  }
}

function choicesOf(request: ModelRequest): number {
  return Math.max(1, whole((request as Asked).n) ?? 1);
}
