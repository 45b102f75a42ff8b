/** The tokens that an answer has used, as the vendors of language models bill them. */
export interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
}

export interface Completion {
  readonly text: string;
  readonly usage: Usage;
}

/** The model cannot answer now. Nothing is billed then. */
export class ModelUnavailableError extends Error {}

/** A language model, which answers slowly and is paid for by the token. */
export abstract class LanguageModel {
  /** @throws ModelUnavailableError */
  abstract complete(prompt: string): Promise<Completion>;
}
