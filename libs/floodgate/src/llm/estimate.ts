import { textBytes, tokensOf, whole } from './texts.js';

/** What a model is asked: the body of the request, in the shape of its provider. */
export type ModelRequest = object;

interface Asked {
  readonly model?: unknown;
  readonly n?: unknown;
  readonly max_tokens?: unknown;
  readonly max_completion_tokens?: unknown;
  readonly max_output_tokens?: unknown;
}

/** Tokens that a first answer of a model is taken for, where the request does not bound it. */
const FIRST_OUTPUT = 1_000;
/** How many answers of a model are remembered, and of how many models. */
const REMEMBERED = 20;
const MODELS = 100;

/** Estimates what calls will use. */
export class Estimates {
  /** The outputs of the last answers, by model; the model that was used last is the last. */
  private readonly outputs = new Map<unknown, number[]>();

  /** Tokens of a prompt. */
  input(request: ModelRequest): number {
    return tokensOf(textBytes(request));
  }

  /** Tokens of an answer: as many as the longest of the last ones, and at most as many as the request allows. */
  output(request: ModelRequest): number {
    const { model, n, ...bounds } = request as Asked;
    const most = whole(bounds.max_output_tokens) ?? whole(bounds.max_completion_tokens) ?? whole(bounds.max_tokens);
    const last = this.outputs.get(model);
    const seen = last === undefined ? (most ?? FIRST_OUTPUT) : Math.max(...last);
    return Math.min(seen, most ?? Infinity) * (whole(n) ?? 1);
  }

  /** Remembers what an answer has used. */
  saw(request: ModelRequest, output: number): void {
    const { model, n } = request as Asked;
    const last = this.outputs.get(model) ?? [];
    this.outputs.delete(model);
    this.outputs.set(model, [...last.slice(1 - REMEMBERED), Math.ceil(output / Math.max(1, whole(n) ?? 1))]);
    if (this.outputs.size > MODELS) this.outputs.delete(this.outputs.keys().next().value);
  }
}
