// The only door from the playground to the library. What stands behind it is pure: it runs in a browser as it is. Users import
// the library by its name, whose index also holds what needs Node.js.
export type { Algorithm } from '../../../libs/rate-limit/src/algorithms/core/algorithm.js';
export { parsePolicy } from '../../../libs/rate-limit/src/policy/parse-policy.js';
export { headroomIn } from '../../../libs/rate-limit/src/policy/priorities.js';
export type { Policy } from '../../../libs/rate-limit/src/policy/policy.js';
export { judge } from '../../../libs/rate-limit/src/stores/judge.js';
