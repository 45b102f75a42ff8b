// A Nest application names one package alone: pnpm shows it no other.
export { limitModel, modelTokens } from 'floodgate/llm';
export type {
  LimitedModel,
  ModelCall,
  ModelCallOptions,
  ModelPolicies,
  ModelRequest,
  ModelTokens,
} from 'floodgate/llm';
