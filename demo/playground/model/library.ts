// The only door from the playground to the library. What stands behind it is pure: it runs in a browser as it is. Users import
// the library by its name, whose index also holds what needs Node.js.
export type { Algorithm } from '../../../libs/floodgate/src/algorithms/core/algorithm.js';
export { parsePolicy } from '../../../libs/floodgate/src/policy/parse-policy.js';
export { headroomIn } from '../../../libs/floodgate/src/policy/priorities.js';
export type { Policy } from '../../../libs/floodgate/src/policy/policy.js';
export { judge } from '../../../libs/floodgate/src/stores/judge.js';
