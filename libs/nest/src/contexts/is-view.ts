import type { ContextView } from './context-view.js';

/** Marks a `ContextView`, for code that is loaded before the class. */
export const IS_VIEW = Symbol('rate limit view');

export function isView(target: object): target is ContextView {
  return IS_VIEW in target;
}
