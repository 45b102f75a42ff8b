import { hash } from 'node:crypto';
import { LEAN_PROGRAMS, PROGRAM as TEXT } from './program.generated.js';

/** A Lua program. */
export interface Program {
  readonly text: string;
  /** By which Redis knows it. */
  readonly sha1: string;
}

/** A program's call. */
export interface ScriptCall {
  readonly program: Program;
  /** How many of `args` are keys. */
  readonly keys: number;
  readonly args: readonly string[];
}

/** lua/program.lua, which decides any batch. */
export const PROGRAM: Program = programOf(TEXT);

const LEAN_TEXTS: Readonly<Record<string, string>> = LEAN_PROGRAMS;
const leanPrograms = new Map<string, Program>();

/** lua/lean.lua for an algorithm of lua/algorithms, which decides one row of one charge. */
export function leanProgramOf(algorithm: string): Program {
  let program = leanPrograms.get(algorithm);
  if (program === undefined) leanPrograms.set(algorithm, (program = programOf(LEAN_TEXTS[algorithm]!)));
  return program;
}

/** A program by its text. */
export function programOf(text: string): Program {
  return { text, sha1: hash('sha1', text) };
}
