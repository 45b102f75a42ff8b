// Makes a Lua program faster without changing what it does: Redis runs a script from its first line each time, so every function
// that it makes, every call of one and every table is a measurable part of a short run.
//
// - A call of a local function becomes the function's body, where the call is a statement, or all that a statement assigns. An
//   early `return` becomes a `break` out of a `repeat ... until true`. Functions that only return an expression also go into
//   expressions.
// - Literals take the place of the locals that they initialise, and branches that can never run are dropped.
// - A table that is only read at constant places becomes locals.
// - What nothing uses any more is dropped.
//
// Functions stay as they are that return from within a loop, call themselves, or are used as values.
//
// What a program must not do: put parentheses around a call to have its first value alone, as luaparse drops them; and write by a
// computed index to a place of a table that its constructor fills, if that is read by a constant one.
import luaparse from 'luaparse';
import { inlineCalls } from './inline/calls.js';
import { scalars, withoutCalls } from './inline/cheaper.js';
import { drop, fold } from './inline/fold.js';
import { resolve } from './inline/tree.js';
import { print } from './print.js';

/** The faster text of a program without comments. */
export function inlined(text) {
  const chunk = luaparse.parse(text, { luaVersion: '5.1', comments: false, encodingMode: 'none' });
  resolve(chunk.body, new Map());
  for (let before; before !== (before = print(chunk.body));) {
    fold(chunk);
    inlineCalls(chunk);
    withoutCalls(chunk);
    scalars(chunk);
    drop(chunk);
  }
  return print(chunk.body);
}
