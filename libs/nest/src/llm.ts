// A Nest application depends on one package, and pnpm lets it import no other.
export { limitModel, modelTokens } from 'floodgate/llm';
export type {
  LimitedModel,
  ModelCall,
  ModelCallOptions,
  ModelPolicies,
  ModelRequest,
  ModelTokens,
} from 'floodgate/llm';
