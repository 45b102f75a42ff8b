import { hash } from 'node:crypto';
import {
  DECISIONS,
  LEAN as LEAN_TEXTS,
  OVERRIDES as OVERRIDES_TEXT,
  REPORTS as REPORTS_TEXT,
  RESERVATIONS as RESERVATIONS_TEXT,
} from './programs.generated.js';

/** A Lua program. */
export interface Program {
  readonly text: string;
  /** The hash for EVALSHA. */
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
export const PROGRAM: Program = programOf(DECISIONS);

/** The programs of lua/lean.lua, by the algorithm: they decide rows of one charge each, all of one policy. */
export const LEAN: ReadonlyMap<string, Program> = new Map(
  Object.entries(LEAN_TEXTS).map(([algorithm, text]) => [algorithm, programOf(text)]),
);

/** lua/overrides.lua. */
export const OVERRIDES: Program = programOf(OVERRIDES_TEXT);

/** lua/reports.lua. */
export const REPORTS: Program = programOf(REPORTS_TEXT);

/** lua/reservations.lua. */
export const RESERVATIONS: Program = programOf(RESERVATIONS_TEXT);

function programOf(text: string): Program {
  return { text, sha1: hash('sha1', text) };
}
