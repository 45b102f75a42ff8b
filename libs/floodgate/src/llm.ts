export {
  limitModel,
  type LimitedModel,
  type ModelCall,
  type ModelCallOptions,
  type ModelPolicies,
} from './llm/limit-model.js';
export type { ModelRequest } from './llm/estimate.js';
export { modelTokens, type ModelTokens } from './llm/model-tokens.js';
